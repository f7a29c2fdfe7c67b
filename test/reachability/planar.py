"""The planar three-link arm of a public exercise on inverse reachability maps (University of Bonn, humanoid robotics).

Joints 0 to π/2 and twice −π to π; a configuration is the better the nearer it is to (π/4, 0, 0) and the straighter the
hand: score = 1 − (|4 q0 − π| + |q1| + |q2| + |θ|)/(4π); only hands above the floor line count.
"""

from __future__ import annotations

import numpy as np

from manipapy_core import Robot

JOINT = """<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{next}"/><origin xyz="{x} 0 0"/>
<axis xyz="0 0 1"/><limit lower="{low}" upper="{high}" velocity="1" effort="1"/></joint>"""


def planar_robot() -> Robot:
    limits = [(0.0, np.pi / 2), (-np.pi, np.pi), (-np.pi, np.pi)]
    joints = [JOINT.format(i=i, next=i + 1, x=float(i > 0), low=low, high=high) for i, (low, high) in enumerate(limits)]
    hand = '<joint name="end" type="fixed"><parent link="l3"/><child link="hand"/><origin xyz="1 0 0"/></joint>'
    links = "".join(f'<link name="{name}"/>' for name in ("l0", "l1", "l2", "l3", "hand"))
    return Robot.from_urdf(f'<robot name="planar">{links}{"".join(joints)}{hand}</robot>')


def score(q):
    theta = (q.sum(axis=-1) + np.pi) % (2 * np.pi) - np.pi
    return 1.0 - (np.abs(4 * q[..., 0] - np.pi) + np.abs(q[..., 1]) + np.abs(q[..., 2]) + np.abs(theta)) / (4 * np.pi)


def hand(q):
    """x, y and angle of the hand by trigonometry."""
    angle = np.cumsum(q, axis=-1)
    return np.cos(angle).sum(axis=-1), np.sin(angle).sum(axis=-1), angle[..., -1]


def above_the_line(q):
    return hand(q)[1] > 0.0
