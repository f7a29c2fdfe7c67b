"""Robots without a single convenient zero: random placements, slanted axes, turned inertial frames."""

from __future__ import annotations

import numpy as np

from reference.small_robots import RobotCase
from reference.urdf_writing import joint, link, robot

_KINDS = {"R": "revolute", "P": "prismatic", "C": "continuous", "F": "fixed"}


def random_chain(kinds: str = "RPRPRR", seed: int = 3) -> RobotCase:
    """A serial chain, one joint per letter (R, P, C or F), links link0 … linkN."""
    rng = np.random.default_rng(seed)
    elements = [_random_link(rng, "link0")]
    for index, kind in enumerate(kinds, start=1):
        elements.append(_random_link(rng, f"link{index}"))
        elements.append(_random_joint(rng, f"joint{index}", _KINDS[kind], f"link{index - 1}", f"link{index}"))
    name = f"random_{kinds}"
    return RobotCase(name, robot(name, *elements), "link0", f"link{len(kinds)}")


def humanoid(seed: int = 11) -> RobotCase:
    """A pelvis with two legs, and a torso with a head and two arms; chain from the left foot to the right hand.

    The path climbs one branch against the joints' direction and descends another, past a fixed joint.
    """
    rng = np.random.default_rng(seed)
    limbs = (
        ("pelvis", "left_thigh", "revolute"),
        ("left_thigh", "left_shin", "revolute"),
        ("left_shin", "left_foot", "prismatic"),
        ("pelvis", "right_thigh", "revolute"),
        ("right_thigh", "right_foot", "revolute"),
        ("pelvis", "waist", "fixed"),
        ("waist", "torso", "revolute"),
        ("torso", "head", "revolute"),
        ("torso", "left_arm", "revolute"),
        ("left_arm", "left_hand", "prismatic"),
        ("torso", "right_arm", "revolute"),
        ("right_arm", "right_hand", "continuous"),
    )
    elements = [_random_link(rng, "pelvis")]
    for parent, child, kind in limbs:
        elements.append(_random_link(rng, child))
        elements.append(_random_joint(rng, f"{parent}_to_{child}", kind, parent, child))
    return RobotCase("humanoid", robot("humanoid", *elements), "left_foot", "right_hand")


def _random_link(rng: np.random.Generator, name: str) -> str:
    # A cloud of points is a body that can exist: its inertia is positive and keeps the triangle inequality.
    points = rng.normal(scale=0.15, size=(12, 3))
    mass = float(rng.uniform(0.5, 3.0))
    spread = np.einsum("ki,kj->ij", points, points) * mass / len(points)
    inertia = np.trace(spread) * np.eye(3) - spread
    entries = (inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2])
    return link(name, mass, rng.uniform(-0.2, 0.2, 3), rng.uniform(-np.pi, np.pi, 3), entries)


def _random_joint(rng: np.random.Generator, name: str, kind: str, parent: str, child: str) -> str:
    axis = rng.normal(size=3)
    return joint(
        name,
        kind,
        parent,
        child,
        xyz=rng.uniform(-0.4, 0.4, 3),
        rpy=rng.uniform(-np.pi, np.pi, 3),
        axis=None if kind == "fixed" else axis / np.linalg.norm(axis),
        limits=(-0.5, 0.5) if kind == "prismatic" else (-3.0, 3.0),
    )
