"""Where a camera is, as bringup takes it: from the file of a calibration, or typed as numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import lie
from ..errors import InputError
from ..typing import Array

TEXT = "parent x y z roll pitch yaw, or parent x y z qx qy qz qw [m, rad]"


@dataclass(frozen=True, eq=False)
class CameraPose:
    """Pose of the camera's optical frame in a link of the robot."""

    parent: str
    """Link that the camera is fixed to: the hand, or the base."""
    T_parent_camera: Array
    """Shape (4, 4)."""
    child: str = ""
    """Optical frame of the camera; empty: that of the images."""

    @classmethod
    def parse(cls, text: str) -> CameraPose:
        """From the name of a YAML file, or from numbers after the name of a link.

        Raises:
            InputError: It is neither.
        """
        if Path(text).suffix in (".yaml", ".yml"):
            return cls.load(text)
        words = text.replace(",", " ").split()
        try:
            numbers = [float(word) for word in words[1:]]
        except ValueError:
            numbers = []
        if len(numbers) not in (6, 7):
            raise InputError(f"the pose of the camera is {text!r}; give a YAML file, or {TEXT}")
        return cls(words[0], matrix_of(numbers[:3], numbers[3:], text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CameraPose:
        """From a file of `manipapy calibrate hand-eye`.

        Raises:
            InputError: It does not exist or lacks something.
        """
        data = read_yaml(path)
        missing = [key for key in ("parent_frame", "translation", "rotation") if key not in data]
        if missing:
            raise InputError(
                f"{os.fspath(path)}: no {', '.join(missing)}; calibrate with `manipapy calibrate hand-eye`"
            )
        T = matrix_of(data["translation"], data["rotation"], os.fspath(path))
        return cls(str(data["parent_frame"]), T, str(data.get("child_frame", "")))

    @property
    def quaternion(self) -> Array:
        """(x, y, z, w), shape (4,)."""
        return lie.rotation_to_quaternion(self.T_parent_camera[:3, :3])

    def text(self) -> str:
        """As `parse` reads it."""
        numbers = [*self.T_parent_camera[:3, 3], *self.quaternion]
        return " ".join([self.parent, *(f"{number:.9g}" for number in numbers)])

    def static_transform(self, child: str = "camera_optical_frame") -> str:
        """Command that publishes it without manipapy."""
        x, y, z = self.T_parent_camera[:3, 3]
        qx, qy, qz, qw = self.quaternion
        return (
            f"ros2 run tf2_ros static_transform_publisher --x {x:.6f} --y {y:.6f} --z {z:.6f} --qx {qx:.8f} "
            f"--qy {qy:.8f} --qz {qz:.8f} --qw {qw:.8f} --frame-id {self.parent} --child-frame-id {self.child or child}"
        )


def read_yaml(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The mapping of a YAML file.

    Raises:
        InputError: It does not exist, or holds something else.
    """
    import yaml

    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(path)} is no YAML file: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{os.fspath(path)} holds no settings; write name: value")
    return data


def matrix_of(translation: Any, rotation: Any, source: str) -> Array:
    """Matrix of a translation [m] and three angles [rad] or a quaternion, shape (4, 4); refuses anything else."""
    try:
        t, r = (np.array(part, dtype=np.float64).ravel() for part in (translation, rotation))
    except (TypeError, ValueError):
        t, r = np.zeros(0), np.zeros(0)
    if t.shape != (3,) or r.shape not in ((3,), (4,)) or not np.isfinite([*t, *r]).all():
        raise InputError(f"{source}: the pose needs three numbers and then three angles or a quaternion; {TEXT}")
    if len(r) == 3:
        return lie.pose(lie.rotation_from_rpy(r), t)
    length = float(np.linalg.norm(r))
    if abs(length - 1.0) > 0.01:
        raise InputError(f"{source}: the quaternion has length {length:.3f}; it must be 1")
    return lie.pose(lie.rotation_from_quaternion(r / length), t)
