"""Box panel of the web viewer: adds boxes to the simulation or to the planner's world, where the gizmo is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, ManipapyError
from ..typing import Array

if TYPE_CHECKING:
    import viser

SIZE = (0.1, 0.1, 0.2)
"""At the start [m]."""
LARGEST = 5.0
"""[m]"""


@dataclass(frozen=True)
class BoxCommands:
    """Callbacks that add and remove boxes; each returns a message and may block."""

    add: Mapping[str, Callable[[str, Array, Array], str]]
    """By the place where a box is added, such as `simulation`: called with its name, size x, y, z [m], and its centre
    in the base frame [m]."""
    remove: Callable[[str], str]
    """Removes the box of this name."""


class BoxPanel:
    """Size, place and buttons, in the container that is open when it is made.

    Args:
        server: The viser server.
        commands: What is done.
        position: Returns where a box is put, in the base frame [m], shape (3,).
        show_message: Shows a line to the user.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        commands: BoxCommands,
        position: Callable[[], Array],
        show_message: Callable[[str], None],
    ):
        self._commands, self._position, self._show_message = commands, position, show_message
        self._numbers = itertools.count(1)
        self._added: list[str] = []
        gui = server.gui
        self.size: Any = gui.add_vector3(
            "Size [m]", initial_value=SIZE, min=(0.005,) * 3, max=(LARGEST,) * 3, step=0.005
        )
        self.where: Any = gui.add_dropdown("Where", options=tuple(commands.add))
        self.add: Any = gui.add_button("Add box", hint="Its centre is at the gizmo")
        self.remove: Any = gui.add_button("Remove box", hint="Removes the box that was added last", disabled=True)
        self.add.on_click(lambda _: self._try(self._add))
        self.remove.on_click(lambda _: self._try(self._remove))

    def _add(self) -> str:
        size = np.array(self.size.value, dtype=np.float64)
        if not ((size > 0.0) & (size <= LARGEST)).all():
            raise InputError(f"the size is {size.tolist()}; give three lengths above 0, at most {LARGEST:g} m")
        name = f"box_{next(self._numbers)}"
        text = self._commands.add[str(self.where.value)](name, size, self._position())
        self._added.append(name)
        self.remove.disabled = False
        return text

    def _remove(self) -> str:
        name = self._added.pop()
        self.remove.disabled = not self._added
        return self._commands.remove(name)

    def _try(self, act: Callable[[], str]) -> None:
        try:
            self._show_message(act())
        except ManipapyError as error:
            self._show_message(f"**Box**: {error}")
