"""Tables that the DH tests share: the lecture's UR5, makers' tables, and random ones with every special case."""

from __future__ import annotations

from math import pi

import numpy as np
from hypothesis import strategies as st

from manipapy_core import lie
from manipapy_core.model.dh import DHTable

# a, alpha, d, theta. Bennewitz and Dengler, "Fundamentals of Manipulation", slide "DH Example: UR5 Arm"; the figures
# are those of Universal Robots' support article on DH parameters.
LECTURE_UR5 = [
    (0.0, pi / 2, 0.089159, 0.0),
    (-0.425, 0.0, 0.0, 0.0),
    (-0.39225, 0.0, 0.0, 0.0),
    (0.0, pi / 2, 0.10915, 0.0),
    (0.0, -pi / 2, 0.09465, 0.0),
    (0.0, 0.0, 0.0823, 0.0),
]

# Franka Control Interface documentation, "Denavit–Hartenberg parameters" (Craig's convention); the last row is the
# flange, a fixed 0.107 m along the last axis, added here to d of joint 7.
FRANKA = [
    (0.0, 0.0, 0.333, 0.0),
    (0.0, -pi / 2, 0.0, 0.0),
    (0.0, pi / 2, 0.316, 0.0),
    (0.0825, pi / 2, 0.0, 0.0),
    (-0.0825, -pi / 2, 0.384, 0.0),
    (0.0, pi / 2, 0.0, 0.0),
    (0.088, pi / 2, 0.107, 0.0),
]

# Axes that are parallel, intersecting or coincident come from exact quarter turns and zeros. Between them angles keep
# a distance: a common normal of almost parallel axes is far away and has no 12 digits (see `dh.from_chain`).
ANGLES = st.sampled_from([0.0, pi / 2, -pi / 2, pi, -pi]) | st.floats(0.05, pi / 2 - 0.05).flatmap(
    lambda angle: st.sampled_from([angle, -angle, angle + pi / 2, -angle - pi / 2])
)
LENGTHS = st.just(0.0) | st.floats(0.01, 1.0) | st.floats(-1.0, -0.01)
ROWS = st.tuples(LENGTHS, ANGLES, LENGTHS, ANGLES, st.sampled_from(["revolute", "revolute", "prismatic"]))
# Whole milliradians: URDF text takes angles within 1e-11 of a quarter turn for one, which 12 digits would show.
MILLI = st.integers(-1500, 1500).map(lambda value: value / 1000)
POSES = st.just(np.eye(4)) | st.lists(MILLI, min_size=6, max_size=6).map(lie.exp_se3)
TABLES = st.builds(
    DHTable,
    st.lists(ROWS, min_size=1, max_size=7),
    st.sampled_from(["standard", "modified"]),
    POSES,
    POSES,
)


def configurations(n: int, count: int = 8) -> np.ndarray:
    """Zero first, then random positions; shape (count, n)."""
    q = np.random.default_rng(n).uniform(-3.0, 3.0, (count, n))
    q[0] = 0.0
    return q
