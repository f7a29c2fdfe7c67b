"""Access to PyBullet: imported when the first client opens, one `BulletClient` per physics server."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lie
from ...errors import ManipapyError
from ...typing import Array
from ..errors import SimulationUnavailable


@functools.cache
def pybullet() -> Any:
    """The module `pybullet`.

    Raises:
        SimulationUnavailable: It is not installed; the message names the extra.
    """
    try:
        return importlib.import_module("pybullet")
    except ImportError as error:
        raise SimulationUnavailable(
            f"this needs PyBullet ({error}): pip install 'manipapy[sim]'; where it has no wheel, "
            "`pip install numpy pybullet` compiles it in about ten minutes"
        ) from error


class BulletClient:
    """One physics server; every function of PyBullet is a method bound to this server."""

    def __init__(self, *, gui: bool = False):
        """Open a server.

        Args:
            gui: Open a window.
        """
        self.bullet = pybullet()
        if gui and sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
            # PyBullet would exit the process here.
            raise SimulationUnavailable("the window of PyBullet needs a display; set DISPLAY, or use gui=False")
        self.id: int = self.bullet.connect(self.bullet.GUI if gui else self.bullet.DIRECT)
        if self.id < 0:
            raise SimulationUnavailable("PyBullet did not open; it allows one window per process, use gui=False")
        if gui:
            self.configureDebugVisualizer(self.COV_ENABLE_GUI, 0)

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("id", -1) < 0:
            raise ManipapyError("this simulation is closed; open a new one")
        value = getattr(self.bullet, name)
        if callable(value):
            value = functools.partial(value, physicsClientId=self.id)
        self.__dict__[name] = value  # later lookups bypass this method
        return value

    def close(self) -> None:
        """Shut the server down; a second call does nothing."""
        if self.id >= 0:
            self.bullet.disconnect(physicsClientId=self.id)
            # PyBullet reuses the id for the next server, which this object must not reach.
            self.__dict__ = {"bullet": self.bullet, "id": -1}

    def __enter__(self) -> BulletClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_position_quaternion(T: Array) -> tuple[list[float], list[float]]:
    """A pose as PyBullet takes it: position [m] and quaternion x, y, z, w."""
    return T[:3, 3].tolist(), lie.rotation_to_quaternion(T[:3, :3]).tolist()


def from_position_quaternion(position: Sequence[float], quaternion: Sequence[float]) -> Array:
    """A pose as PyBullet gives it, as a homogeneous matrix, shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3] = np.reshape(pybullet().getMatrixFromQuaternion(quaternion), (3, 3))
    T[:3, 3] = position
    return T
