"""Layers of the web viewer: groups of drawn objects, each with a switch on the page."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser


class Layer:
    """Objects that are shown and hidden together; made by `Layers.add`.

    Args:
        server: The viser server.
        name: Label of the switch.
        visible: At the start.
        hint: What is drawn, shown when the mouse rests on the switch.
    """

    def __init__(self, server: viser.ViserServer, name: str, visible: bool, hint: str):
        self.name = name
        self._server, self._lock = server, threading.Lock()
        self._groups: dict[str, Any] = {}
        self._shown: list[Any] = []
        self.switch: Any = server.gui.add_checkbox(name, initial_value=visible, hint=hint)
        self.switch.on_update(lambda _: self._switched())

    @property
    def visible(self) -> bool:
        """Whether the layer is shown."""
        return bool(self.switch.value)

    @visible.setter
    def visible(self, value: bool) -> None:
        self.switch.value = value
        self._switched()

    def below(self, parent: str) -> str:
        """Name of the scene node that groups this layer below another node; made at the first call."""
        path = f"{parent}/{self.name.lower().replace(' ', '_')}"
        with self._lock:
            if path not in self._groups:
                self._groups[path] = self._server.scene.add_frame(path, show_axes=False, visible=self.visible)
        return path

    def include(self, handle: Any) -> None:
        """Show and hide a node of the scene, or an element of the page, with this layer."""
        handle.visible = self.visible
        with self._lock:
            self._shown.append(handle)

    def exclude(self, handle: Any) -> None:
        """Leave a node alone from now on."""
        with self._lock:
            self._shown = [shown for shown in self._shown if shown is not handle]

    def _switched(self) -> None:
        visible = self.visible
        with self._lock:
            handles = [*self._groups.values(), *self._shown]
        for handle in handles:
            handle.visible = visible


class Layers:
    """All layers of a page, with their switches in one container.

    Args:
        server: The viser server.
        container: Tab or folder of the switches.
    """

    def __init__(self, server: viser.ViserServer, container: Any):
        self._server, self.container = server, container
        self._layers: dict[str, Layer] = {}

    def __getitem__(self, name: str) -> Layer:
        return self._layers[name]

    def __contains__(self, name: str) -> bool:
        return name in self._layers

    def add(self, name: str, *, visible: bool = True, hint: str = "") -> Layer:
        """The layer of this name; a new one with a switch if there is none."""
        if name not in self._layers:
            with self.container:
                self._layers[name] = Layer(self._server, name, visible, hint)
        return self._layers[name]
