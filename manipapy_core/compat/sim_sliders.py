"""Sliders in PyBullet's window, with ManipulaPy's names; they need a screen."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import draw, sim
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array


class Sliders:
    """The sliders, as methods of a simulation."""

    chain: Chain
    logger: logging.Logger
    joint_limits: Sequence[tuple[float, float]]
    world: sim.SimWorld | None
    _joint_sliders: tuple[int, ...] = ()
    _reset_button: int | None = None
    _gravity_slider: int | None = None

    def initialize_robot(self) -> None:
        """See `Simulation`."""
        raise NotImplementedError

    def get_joint_positions(self) -> Array:
        """See `Simulation`."""
        raise NotImplementedError

    def set_joint_positions(self, joint_positions: ArrayLike) -> None:
        """See `Simulation`."""
        raise NotImplementedError

    def step_simulation(self) -> None:
        """See `Simulation`."""
        raise NotImplementedError

    def add_joint_parameters(self) -> None:
        """Adds a slider per joint; a second call does nothing, and neither does one without a screen."""
        client = self._window()
        if client is not None and not self._joint_sliders:
            limits, now = np.asarray(self.joint_limits, dtype=np.float64), self.get_joint_positions()
            self._joint_sliders = tuple(
                client.addUserDebugParameter(name, float(low), float(high), float(value))
                for name, (low, high), value in zip(self.chain.joint_names, limits, now)
            )

    def add_reset_button(self) -> None:
        """Adds a button that ends `manual_control`; nothing happens without a screen."""
        client = self._window()
        if client is not None and self._reset_button is None:
            self._reset_button = client.addUserDebugParameter("reset", 1, 0, 0)

    def add_additional_parameters(self) -> None:
        """Adds a slider for gravity; nothing happens without a screen."""
        client = self._window()
        if client is not None and self._gravity_slider is None:
            self._gravity_slider = client.addUserDebugParameter("gravity z", -20.0, 20.0, -9.81)

    def update_simulation_parameters(self) -> None:
        """Takes over the value of the slider for gravity."""
        client = self._window()
        if client is not None and self._gravity_slider is not None:
            client.setGravity(0.0, 0.0, client.readUserDebugParameter(self._gravity_slider))

    def get_joint_parameters(self) -> Array:
        """Values of the sliders of the joints, or the measured positions without any [rad or m], shape (n,)."""
        client = self._window()
        if client is None or not self._joint_sliders:
            return self.get_joint_positions()
        return np.array([client.readUserDebugParameter(slider) for slider in self._joint_sliders])

    def manual_control(self) -> None:
        """Moves the arm by the sliders until the reset button is pressed or the window closed.

        Raises:
            InputError: There is no screen.
        """
        client = self._window()
        if client is None:
            raise InputError("manual_control needs a window with sliders; run it on a machine with a screen")
        self.add_joint_parameters()
        self.add_reset_button()
        pressed = client.readUserDebugParameter(self._reset_button)
        while client.isConnected() and client.readUserDebugParameter(self._reset_button) == pressed:
            self.update_simulation_parameters()
            self.set_joint_positions(self.get_joint_parameters())
            self.step_simulation()

    def _window(self) -> Any:
        """PyBullet's functions for the window; None without a screen or PyBullet."""
        if not draw.has_screen():
            self.logger.info("sliders need a screen")
            return None
        self.initialize_robot()
        assert self.world is not None
        return getattr(self.world._engine, "client", None)
