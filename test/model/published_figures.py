"""What the makers publish about the bundled arms, written down a second time, independently of the URDF files.

Sources are named in docs/robots.md. Lengths in m, angles in rad, masses in kg, torques in N m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, hypot, inf, pi, radians
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
QUARTER = pi / 2


@dataclass(frozen=True)
class PublishedArm:
    """One arm in its maker's words."""

    name: str
    joints: tuple[str, ...]
    base: str
    tip: str
    dh: tuple[tuple[float, float, float, float], ...]
    """One row (a, alpha, d, theta offset) per joint."""
    convention: Literal["standard", "modified"]
    mass: float
    """Of everything in the file, base and gripper included."""
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity: tuple[float, ...]
    effort: tuple[float, ...]
    acceleration: tuple[float, ...]
    home: tuple[float, ...]
    """A pose in which the arm works and touches nothing."""
    jerk: tuple[float, ...] | None = None
    T_base_dh: Array = field(default_factory=lambda: np.eye(4))
    T_dh_tip: Array = field(default_factory=lambda: np.eye(4))

    def frames(self, q: Array) -> list[Array]:
        """Pose of every DH frame in the base frame, shape (4, 4) each; the last one is the tip."""
        pose, poses = self.T_base_dh, []
        for (a, alpha, d, offset), angle in zip(self.dh, q):
            turn = rotation_z(angle + offset) @ translation(0, 0, d)
            shift = translation(a, 0, 0) @ rotation_x(alpha)
            pose = pose @ (turn @ shift if self.convention == "standard" else shift @ turn)
            poses.append(pose)
        poses[-1] = poses[-1] @ self.T_dh_tip
        return poses


def rotation_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def rotation_z(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def translation(x: float, y: float, z: float) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


UR_JOINTS = (
    "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
)  # fmt: skip
UR_LINKS = ("shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")


def _universal_robot(name: str, lengths: tuple[float, ...], mass: float, velocity: tuple[float, ...],
                     effort: tuple[float, ...], endless_wrist: bool = False) -> PublishedArm:  # fmt: skip
    d1, a2, a3, d4, d5, d6 = lengths
    last = inf if endless_wrist else 2 * pi
    return PublishedArm(
        name, UR_JOINTS, "base", "tool0",
        dh=((0, QUARTER, d1, 0), (a2, 0, 0, 0), (a3, 0, 0, 0), (0, QUARTER, d4, 0), (0, -QUARTER, d5, 0),
            (0, 0, d6, 0)),
        convention="standard",
        mass=mass, lower=(-2 * pi,) * 5 + (-last,), upper=(2 * pi,) * 5 + (last,), velocity=velocity, effort=effort,
        acceleration=(radians(80),) * 6, home=(0, -QUARTER, QUARTER, -QUARTER, -QUARTER, 0),
    )  # fmt: skip


UR5 = _universal_robot(
    "ur5", (0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823),
    mass=4 + 3.7 + 8.393 + 2.33 + 1.219 + 1.219 + 0.1879,
    velocity=(radians(180),) * 6, effort=(150, 150, 150, 28, 28, 28),
)  # fmt: skip
UR10E = _universal_robot(
    "ur10e", (0.1807, -0.6127, -0.57155, 0.17415, 0.11985, 0.11655),
    mass=4 + 7.369 + 13.051 + 3.989 + 2.1 + 1.98 + 0.615,
    velocity=(radians(120),) * 2 + (radians(180),) * 4, effort=(330, 330, 150, 54, 54, 54),
)  # fmt: skip
PANDA = PublishedArm(
    "panda", tuple(f"panda_joint{i}" for i in range(1, 8)), "panda_link0", "panda_link8",
    dh=((0, 0, 0.333, 0), (0, -QUARTER, 0, 0), (0, QUARTER, 0.316, 0), (0.0825, QUARTER, 0, 0),
        (-0.0825, -QUARTER, 0.384, 0), (0, QUARTER, 0, 0), (0.088, QUARTER, 0, 0)),
    convention="modified", T_dh_tip=translation(0, 0, 0.107),
    mass=2.3966 + 4.970684 + 0.646926 + 3.228604 + 3.587895 + 1.225946 + 1.666555 + 0.735522 + 0.6544 + 2 * 0.0291,
    lower=(-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973),
    upper=(2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973),
    velocity=(2.175,) * 4 + (2.61,) * 3, effort=(87,) * 4 + (12,) * 3,
    acceleration=(15, 7.5, 10, 12.5, 15, 20, 20), jerk=(7500, 3750, 5000, 6250, 7500, 10000, 10000),
    home=(0, -pi / 4, 0, -3 * pi / 4, 0, QUARTER, pi / 4),
)  # fmt: skip
IIWA14 = PublishedArm(
    "iiwa14", tuple(f"iiwa_joint_{i}" for i in range(1, 8)), "iiwa_link_0", "iiwa_link_ee",
    dh=((0, -QUARTER, 0.36, 0), (0, QUARTER, 0, 0), (0, QUARTER, 0.42, 0), (0, -QUARTER, 0, 0),
        (0, -QUARTER, 0.4, 0), (0, QUARTER, 0, 0), (0, 0, 0.126, 0)),
    convention="standard", mass=29.9,
    lower=tuple(radians(-x) for x in (170, 120, 170, 120, 170, 120, 175)),
    upper=tuple(radians(x) for x in (170, 120, 170, 120, 170, 120, 175)),
    velocity=tuple(radians(x) for x in (85, 85, 100, 75, 130, 135, 135)),
    effort=(320, 320, 176, 176, 110, 40, 40), acceleration=(8.57, 8.57, 8.74, 11.36, 12.23, 15.72, 15.72),
    home=(0, 0.5, 0, -1.4, 0, 1.2, 0),
)  # fmt: skip
XARM6 = PublishedArm(
    "xarm6", tuple(f"joint{i}" for i in range(1, 7)), "link_base", "link_eef",
    dh=((0, -QUARTER, 0.267, 0), (hypot(0.2845, 0.0535), 0, 0, -atan2(0.2845, 0.0535)),
        (0.0775, -QUARTER, 0, atan2(0.2845, 0.0535)), (0, QUARTER, 0.3425, 0), (0.076, -QUARTER, 0, 0),
        (0, 0, 0.097, 0)),
    convention="standard", mass=2.7 + 2.3814 + 2.2675 + 1.875 + 1.3192 + 1.33854 + 0.17,
    lower=(-2 * pi, -2.059, -3.927, -2 * pi, -1.69297, -2 * pi), upper=(2 * pi, 2.0944, 0.19198, 2 * pi, pi, 2 * pi),
    velocity=(3.14,) * 6, effort=(50, 50, 32, 32, 32, 20), acceleration=(10,) * 6,
    home=(0, -0.4, -1.2, 0, 1.5, 0),
)  # fmt: skip
GEN3 = PublishedArm(
    "gen3", tuple(f"joint_{i}" for i in range(1, 8)), "base_link", "end_effector_link",
    # The user guide's table with its sums of lengths written out to all digits, joint 6 (0.35 mm) included.
    dh=((0, QUARTER, -(0.15643 + 0.12838), 0), (0, QUARTER, -(0.005375 + 0.006375), pi),
        (0, QUARTER, -(0.21038 + 0.21038), pi), (0, QUARTER, -(0.006375 + 0.006375), pi),
        (0, QUARTER, -(0.20843 + 0.10593), pi), (0, QUARTER, -2 * 0.00017505, pi),
        (0, pi, -(0.10593 + 0.061525), pi)),
    convention="standard", T_base_dh=rotation_x(pi),
    mass=1.697 + 1.3773 + 2 * 1.1636 + 0.9302 + 2 * 0.6781 + 0.5,
    lower=(-inf, -2.24, -inf, -2.57, -inf, -2.09, -inf), upper=(inf, 2.24, inf, 2.57, inf, 2.09, inf),
    velocity=(1.3963,) * 4 + (1.2218,) * 3, effort=(39,) * 4 + (9,) * 3, acceleration=(1,) * 4 + (10,) * 3,
    home=(0, 0.26, pi, -2.27, 0, 0.96, QUARTER),
)  # fmt: skip

UR3E = _universal_robot(
    "ur3e", (0.15185, -0.24355, -0.2132, 0.13105, 0.08535, 0.0921),
    mass=2 + 1.98 + 3.4445 + 1.437 + 0.871 + 0.805 + 0.261,
    velocity=(radians(180),) * 3 + (radians(360),) * 3, effort=(54, 54, 28, 9, 9, 9), endless_wrist=True,
)  # fmt: skip
UR5E = _universal_robot(
    "ur5e", (0.1625, -0.425, -0.3922, 0.1333, 0.0997, 0.0996),
    mass=4 + 3.761 + 8.058 + 2.846 + 1.37 + 1.3 + 0.365,
    velocity=(radians(180),) * 6, effort=(150, 150, 150, 28, 28, 28),
)  # fmt: skip
UR16E = _universal_robot(
    "ur16e", (0.1807, -0.4784, -0.36, 0.17415, 0.11985, 0.11655),
    mass=4 + 7.369 + 10.45 + 4.321 + 2.18 + 2.033 + 0.907,
    velocity=(radians(120),) * 2 + (radians(180),) * 4, effort=(330, 330, 150, 54, 54, 54),
)  # fmt: skip
UR20 = _universal_robot(
    "ur20", (0.2363, -0.862, -0.7287, 0.201, 0.1593, 0.1543),
    mass=4 + 16.343 + 29.632 + 7.879 + 3.054 + 3.126 + 0.926,
    velocity=(radians(120),) * 2 + (radians(150),) + (radians(210),) * 3, effort=(738, 738, 433, 107, 107, 107),
)  # fmt: skip
FR3 = PublishedArm(
    "fr3", tuple(f"fr3_joint{i}" for i in range(1, 8)), "fr3_link0", "fr3_link8",
    dh=PANDA.dh, convention="modified", T_dh_tip=translation(0, 0, 0.107),
    mass=2.3966 + 2.9274653454 + 2.9355370338 + 2.2449013699 + 2.6155955791 + 2.3271207594 + 1.8170376524 + 0.6271432862
    + 0.6544 + 2 * 0.0291,
    lower=(-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159),
    upper=(2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159),
    velocity=(2.62,) * 4 + (5.26, 4.18, 5.26), effort=(87,) * 4 + (12,) * 3,
    acceleration=(10,) * 7, jerk=(5000,) * 7, home=(0, -pi / 4, 0, -3 * pi / 4, 0, QUARTER, pi / 4),
)  # fmt: skip
IIWA7 = PublishedArm(
    "iiwa7", tuple(f"iiwa_joint_{i}" for i in range(1, 8)), "iiwa_link_0", "iiwa_link_ee",
    dh=((0, -QUARTER, 0.34, 0), (0, QUARTER, 0, 0), (0, QUARTER, 0.4, 0), (0, -QUARTER, 0, 0),
        (0, -QUARTER, 0.4, 0), (0, QUARTER, 0, 0), (0, 0, 0.126, 0)),
    convention="standard", mass=23.899999, lower=IIWA14.lower, upper=IIWA14.upper,
    velocity=tuple(radians(x) for x in (98, 98, 100, 130, 140, 180, 180)),
    effort=(176, 176, 110, 110, 110, 40, 40), acceleration=IIWA14.acceleration, home=(0, 0.5, 0, -1.4, 0, 1.2, 0),
)  # fmt: skip
XARM7 = PublishedArm(
    "xarm7", tuple(f"joint{i}" for i in range(1, 8)), "link_base", "link_eef",
    dh=((0, 0, 0.267, 0), (0, -QUARTER, 0, 0), (0, QUARTER, 0.293, 0), (0.0525, QUARTER, 0, 0),
        (0.0775, QUARTER, 0.3425, 0), (0, QUARTER, 0, 0), (0.076, -QUARTER, 0.097, 0)),
    convention="modified",
    mass=2.7 + 2.382 + 1.869 + 1.6383 + 1.7269 + 1.3203 + 1.325 + 0.17
    + 0.54156 + 2 * 0.033618 + 2 * 0.048304,
    lower=(-2 * pi, -2.059, -2 * pi, -0.19198, -2 * pi, -1.69297, -2 * pi),
    upper=(2 * pi, 2.0944, 2 * pi, 3.927, 2 * pi, pi, 2 * pi),
    velocity=(3.14,) * 7, effort=(50, 50, 30, 30, 30, 20, 20), acceleration=(10,) * 7,
    home=(0, -0.247, 0, 0.909, 0, 1.15644, 0),
)  # fmt: skip
LITE6 = PublishedArm(
    "lite6", tuple(f"joint{i}" for i in range(1, 7)), "link_base", "link_eef",
    dh=((0, 0, 0.2435, 0), (0, -QUARTER, 0, -QUARTER), (0.2002, pi, 0, -QUARTER), (0.087, QUARTER, 0.22761, 0),
        (0, QUARTER, 0, 0), (0, -QUARTER, 0.0625, 0)),
    convention="modified", mass=1.654 + 1.169 + 1.192 + 0.93 + 1.31 + 0.784 + 0.18 + 0.28,
    lower=(-2 * pi, -2.61799, -0.061087, -2 * pi, -2.1642, -2 * pi),
    upper=(2 * pi, 2.61799, 5.235988, 2 * pi, 2.1642, 2 * pi),
    velocity=(3.14,) * 6, effort=(50, 50, 32, 32, 32, 20), acceleration=(10,) * 6,
    home=(0, 0.17, 1.4, 0, 1.23, 0),
)  # fmt: skip
GEN3_LITE = PublishedArm(
    "gen3_lite", tuple(f"joint_{i}" for i in range(1, 7)), "base_link", "tool_frame",
    # The user guide's table, its rounded first length written out: 0.12825 + 0.115.
    dh=((0, QUARTER, 0.24325, 0), (0.28, pi, 0.03, QUARTER), (0, QUARTER, 0.02, QUARTER), (0, QUARTER, 0.245, QUARTER),
        (0, QUARTER, 0.057, pi), (0, 0, 0.235, QUARTER)),
    convention="standard", T_dh_tip=rotation_z(QUARTER),
    mass=1.14608471 + 0.95974404 + 1.17756164 + 0.59767669 + 0.52693412 + 0.58097325 + 0.1395 + 2 * 0.018385
    + 2 * 0.010748,
    lower=(-2.69, -2.69, -2.69, -2.59, -2.57, -2.59), upper=(2.69, 2.69, 2.69, 2.59, 2.57, 2.59),
    velocity=(1.6,) * 5 + (3.2,), effort=(10, 14, 10, 7, 7, 7), acceleration=(1, 0.5, 0.4, 1, 10, 10),
    home=(0, -0.28, 1.31, 0, -0.98, 0),
)  # fmt: skip
ARMS = (
    UR5, UR10E, PANDA, IIWA14, XARM6, GEN3, UR3E, UR5E, UR16E, UR20, FR3, IIWA7, XARM7, LITE6, GEN3_LITE,
)  # fmt: skip
"""Arms whose maker publishes a DH table."""
