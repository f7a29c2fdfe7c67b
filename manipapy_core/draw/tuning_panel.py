"""Tuning panel of the web viewer: law, gains and speed of a running controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError, ManipapyError

if TYPE_CHECKING:
    import viser

MOST_NUMBERS = 64


@dataclass(frozen=True)
class TuningCommands:
    """What the panel may change; callbacks return a message and may block."""

    laws: Mapping[str, Mapping[str, str]]
    """Names of the laws, each with its gains and their descriptions."""
    gain: Callable[[str, str], Sequence[float]]
    """Current values of a gain, by law and name."""
    set_law: Callable[[str], str]
    set_gain: Callable[[str, str, list[float]], str]
    """Of a law, by name."""
    set_motion_speed: Callable[[float], str]
    """Share of the limits that new motions use, above 0 to 1."""
    set_speed: Callable[[float], str]
    """Speed of the running trajectory as a share of its own, above 0 to 1."""


class TuningPanel:
    """Dropdowns, values and sliders, in the container that is open when it is made.

    Args:
        server: The viser server.
        commands: What is changed.
        show_message: Shows a line to the user.
        motion_speed: Share of the limits at the start.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        commands: TuningCommands,
        show_message: Callable[[str], None],
        *,
        motion_speed: float = 0.5,
    ):
        self._commands, self._show_message = commands, show_message
        laws = tuple(commands.laws)
        gui = server.gui
        self.motion_speed: Any = gui.add_slider(
            "New motions", 0.05, 1.0, step=0.05, initial_value=motion_speed, hint="Share of the limits"
        )
        self.speed: Any = gui.add_slider(
            "Now", 0.05, 1.0, step=0.05, initial_value=1.0, hint="Speed of the running motion as a share of its own"
        )
        self.law: Any = gui.add_dropdown("Law", options=laws)
        self.gain: Any = gui.add_dropdown("Gain", options=("",))
        self.values: Any = gui.add_text("Values", initial_value="", hint="Numbers separated by spaces, base first")
        self.about: Any = gui.add_markdown("")
        self.apply: Any = gui.add_button("Apply gain", hint="The controller blends to the new values")
        self.law.on_update(lambda event: self._law_chosen(event))
        self.gain.on_update(lambda _: self._show_gain())
        self.apply.on_click(lambda _: self._try(self._apply))
        self.motion_speed.on_update(lambda event: self._slid(event, commands.set_motion_speed))
        self.speed.on_update(lambda event: self._slid(event, commands.set_speed))
        self._list_gains()

    def show_law(self, law: str) -> None:
        """Show the law that is active."""
        if law in self._commands.laws and self.law.value != law:
            self.law.value = law
            self._list_gains()

    def _law_chosen(self, event: Any) -> None:
        if event.client is not None:  # None: set by this program
            self._try(lambda: self._commands.set_law(str(self.law.value)))
            self._list_gains()

    def _slid(self, event: Any, act: Callable[[float], str]) -> None:
        if event.client is not None:
            self._try(lambda: act(float(event.target.value)))

    def _list_gains(self) -> None:
        names = tuple(self._commands.laws.get(str(self.law.value), ()))
        self.gain.options = names or ("",)
        self.apply.disabled = self.values.disabled = not names
        self._show_gain()

    def _show_gain(self) -> None:
        law, gain = str(self.law.value), str(self.gain.value)
        about = self._commands.laws.get(law, {}).get(gain)
        self.about.content = about or "this law has no gains"
        self.values.value = (
            "" if about is None else " ".join(f"{value:.5g}" for value in self._commands.gain(law, gain))
        )

    def _apply(self) -> str:
        return self._commands.set_gain(str(self.law.value), str(self.gain.value), numbers_in(str(self.values.value)))

    def _try(self, act: Callable[[], str]) -> None:
        try:
            self._show_message(act())
        except ManipapyError as error:
            self._show_message(f"**not changed**: {error}")


def numbers_in(text: str) -> list[float]:
    """Numbers separated by spaces or commas.

    Raises:
        InputError: Something else, or too many.
    """
    words = text.replace(",", " ").split()
    try:
        found = [float(word) for word in words]
    except ValueError as error:
        raise InputError(f"{error}; give numbers separated by spaces") from None
    if not 0 < len(found) <= MOST_NUMBERS:
        raise InputError(f"{len(found)} numbers; give 1 to {MOST_NUMBERS}, separated by spaces")
    return found
