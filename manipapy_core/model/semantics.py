"""A semantic description for a robot that has none: groups found from the tree, named states, pairs not to check."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from ..typing import Array
from .arms import Arm, find_arms
from .chain import Chain
from .robot import Robot
from .srdf import SemanticDescription, disabled_pairs, gripper_group

HOME = "home"
OPEN, CLOSED = "open", "close"
"""States of grippers, by the names that MoveIt's configurations use."""


def semantics_of(
    robot: Robot, chain: Chain, ignored: Mapping[frozenset[str], str], home: Array | None = None
) -> SemanticDescription:
    """Groups of all arms and grippers, with a group for the chain if it is none of them.

    Args:
        chain: The arm that `home` is for.
        ignored: Pairs of links that the collision body leaves out, with the reason (`RobotBody.ignored`).
        home: [rad or m], shape (n,).
    """
    arms = find_arms(robot)
    if all((arm.base, arm.tip) != (chain.base, chain.tip) for arm in arms):
        arms = (Arm("chosen_arm" if arms else "arm", chain.base, chain.tip, chain.joint_names), *arms)
    states: dict[str, dict[str, dict[str, float]]] = {}
    if home is not None:
        name = next(arm.name for arm in arms if (arm.base, arm.tip) == (chain.base, chain.tip))
        states[name] = {HOME: dict(zip(chain.joint_names, home.tolist()))}
    for arm in arms:
        if arm.gripper is not None:
            states[gripper_group(arm)] = _gripper_states(robot, arm.gripper.joints)
    pairs = disabled_pairs({**fixed_pairs(robot), **ignored})
    return SemanticDescription.of_arms(robot.name, arms, states, pairs)


def group_of(semantics: SemanticDescription, chain: Chain) -> str:
    """Name of the group that is this chain; empty if there is none."""
    ends = ((chain.base, chain.tip),)
    return next((group.name for group in semantics.groups if group.chains == ends), "")


def fixed_pairs(robot: Robot) -> dict[frozenset[str], str]:
    """Links with shapes that fixed joints hold together: the body has them as one, MoveIt asks for each pair."""
    group = {name: name for name in robot.links}
    for joint in robot.joints.values():
        if not joint.type.moves:
            old, new = group[joint.child], group[joint.parent]
            group = {name: new if of == old else of for name, of in group.items()}
    solid = [name for name in robot.links if robot.links[name].collisions]
    pairs = itertools.combinations(solid, 2)
    return {frozenset(pair): "adjacent" for pair in pairs if group[pair[0]] == group[pair[1]]}


def _gripper_states(robot: Robot, joints: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Open at the upper limits and closed at the lower ones, as sliding fingers are; 0 where there are no limits."""
    limits = [(name, robot.joints[name].lower, robot.joints[name].upper) for name in joints]
    finite = {name: (low, high) if abs(low) < 1e3 and abs(high) < 1e3 else (0.0, 0.0) for name, low, high in limits}
    return {
        OPEN: {name: high for name, (_, high) in finite.items()},
        CLOSED: {name: low for name, (low, _) in finite.items()},
    }
