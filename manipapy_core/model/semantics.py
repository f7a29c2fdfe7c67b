"""A semantic description for a robot that has none: groups found from the tree, named states, pairs not to check."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError
from ..typing import Array
from .arms import Arm, find_arms, nearest_to_zero
from .chain import Chain
from .robot import Robot
from .srdf import ALL_ARMS, SemanticDescription, disabled_pairs, gripper_group

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
    several = _arms_together(arms, chain)
    if not several and all((arm.base, arm.tip) != (chain.base, chain.tip) for arm in arms):
        arms = (Arm("chosen_arm" if arms else "arm", chain.base, chain.tip, chain.joint_names), *arms)
    states: dict[str, dict[str, dict[str, float]]] = {}
    if home is not None:
        positions = dict(zip(chain.joint_names, home.tolist()))
        own = several or [arm for arm in arms if (arm.base, arm.tip) == (chain.base, chain.tip)][:1]
        for arm in own:
            states[arm.name] = {HOME: {joint: positions[joint] for joint in arm.joints}}
        if several:
            states[ALL_ARMS] = {HOME: positions}
    for arm in arms:
        if arm.gripper is not None:
            states[gripper_group(arm)] = _gripper_states(robot, arm)
    pairs = disabled_pairs({**fixed_pairs(robot), **ignored})
    return SemanticDescription.of_arms(robot.name, arms, states, pairs)


def group_chain(
    robot: Robot, group: str, base: str = "", tip: str = "", locked: Mapping[str, float] | None = None
) -> Chain:
    """The joints of a group that has several arms, with every other joint locked at a position within its limits.

    Args:
        group: Name of a group, such as `arms`; an arm alone is also one.
        base: Link that stays still; the root if not given.
        tip: Link whose motion is computed; that of the group's first arm if not given.
        locked: Positions [rad or m] by joint; the others are locked at the position nearest to 0.

    Raises:
        UnknownGroup: There is no such group.
        InputError: The group has no arm, or does not move the tip.
    """
    semantics = SemanticDescription.of_arms(robot.name, find_arms(robot))
    joints, tips = semantics.joints_of(group, robot), semantics.tips_of(group)
    if not tips:
        arms = ", ".join(item.name for item in semantics.groups if semantics.tips_of(item.name))
        raise InputError(f"group {group!r} is no arm; choose one of {arms}")
    given = dict(locked or {})
    moved = next((name for name in given if name in joints), None)
    if moved is not None:
        raise InputError(f"joint {moved!r} is locked, but group {group!r} moves it; choose another group")
    others = [joint for joint in robot.free_joints if joint not in joints]
    chain = robot.tree(base or robot.root, tip or tips[0], fixed={**nearest_to_zero(robot, others), **given})
    if chain.tip_body < 0:
        raise InputError(f"group {group!r} does not move {chain.tip!r}; choose a tip of {', '.join(tips)}")
    return chain


def group_of(semantics: SemanticDescription, chain: Chain) -> str:
    """Name of the group that is this chain; empty if there is none."""
    ends = ((chain.base, chain.tip),)
    return next((group.name for group in semantics.groups if group.chains == ends), "")


def fixed_pairs(robot: Robot) -> dict[frozenset[str], str]:
    """Links with shapes that fixed joints hold together: the body has them as one, MoveIt needs each pair."""
    group = {name: name for name in robot.links}
    for joint in robot.joints.values():
        if not joint.type.moves:
            old, new = group[joint.child], group[joint.parent]
            group = {name: new if of == old else of for name, of in group.items()}
    solid = [name for name in robot.links if robot.links[name].collisions]
    pairs = itertools.combinations(solid, 2)
    return {frozenset(pair): "adjacent" for pair in pairs if group[pair[0]] == group[pair[1]]}


def _arms_together(arms: Sequence[Arm], chain: Chain) -> list[Arm]:
    """All arms, if there are several and the chain has exactly their joints; else none."""
    joints = {joint for arm in arms for joint in arm.joints}
    return list(arms) if len(arms) > 1 and joints == set(chain.joint_names) else []


def _gripper_states(robot: Robot, arm: Arm) -> dict[str, dict[str, float]]:
    """Open at those ends of the travel where the fingers are farther apart, closed at the others; 0 without limits."""
    assert arm.gripper is not None
    limits = [(name, robot.joints[name].lower, robot.joints[name].upper) for name in arm.gripper.joints]
    finite = {name: (low, high) if abs(low) < 1e3 and abs(high) < 1e3 else (0.0, 0.0) for name, low, high in limits}
    lower, upper = ({name: ends[side] for name, ends in finite.items()} for side in (0, 1))
    if _spread(robot, arm, lower) > _spread(robot, arm, upper) + 1e-6:
        lower, upper = upper, lower
    return {OPEN: upper, CLOSED: lower}


def _spread(robot: Robot, arm: Arm, positions: Mapping[str, float]) -> float:
    """Sum of the distances between the centres of a gripper's links [m], with its joints at these positions."""
    assert arm.gripper is not None
    chain = robot.chain(arm.base, arm.tip, fixed=positions)
    placed = dict(zip(chain.link_names, chain.link_placements))
    centres = []
    for name in arm.gripper.links:
        shapes, (_, T_body_link) = robot.links[name].collisions, placed[name]
        centre = np.mean([shape.T_link_shape[:3, 3] for shape in shapes], axis=0) if shapes else np.zeros(3)
        centres.append(T_body_link[:3, :3] @ centre + T_body_link[:3, 3])
    return sum(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(centres, 2))
