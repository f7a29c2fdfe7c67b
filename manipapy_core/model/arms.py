"""Finds the arms and grippers of a robot from its tree of joints, for users who do not name base and tip.

An arm is a series of at least `ARM_JOINTS` joints that nothing branches off; joints beyond its end are its gripper.
Fingers are told from wrists by branches, mimic joints and names. Wheels, heads and torsos are too short to be arms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import InputError
from ..typing import Array
from .chain import Chain
from .elements import Joint
from .joint_loads import WEIGHT

if TYPE_CHECKING:
    from .robot import Robot

ARM_JOINTS = 4
SIDE_JOINTS = 1
"""A branch of so few joints beside an arm does not end it: a spring, a cover, a counterweight."""
_FINGER = re.compile(r"gripper|finger|jaw|knuckle|hand_joint|claw", re.IGNORECASE)
_LEG = re.compile(r"leg|foot|ankle|knee|hip|wheel|caster", re.IGNORECASE)
_TIPS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"(^|_)tool0$", r"(^|_)tcp$", r"end_?effector|(^|_|-)(ee|eef|tool)(_|-|$)|(^|_)tcp", r"flange")
)


@dataclass(frozen=True)
class Gripper:
    """What moves beyond the tip of an arm."""

    links: tuple[str, ...]
    joints: tuple[str, ...]
    """Joints that move on their own; mimic joints follow them."""
    parent: str
    """Link of the arm that carries it."""


@dataclass(frozen=True)
class Arm:
    """A series of joints from a base to a tip."""

    name: str
    base: str
    tip: str
    joints: tuple[str, ...]
    gripper: Gripper | None = None

    def __str__(self) -> str:
        beyond = f", gripper with {len(self.gripper.joints)} joints" if self.gripper else ""
        return f"{self.name}: {self.base} → {self.tip}, {len(self.joints)} joints{beyond}"


class NoArm(InputError):
    """A robot in which no arm was found."""

    def __init__(self, robot: str, links: Sequence[str]):
        super().__init__(
            f"no joint of {robot!r} moves on its own, so it has no arm; its links are {', '.join(links[:20])}"
        )
        self.robot, self.links = robot, tuple(links)


def find_arms(robot: Robot) -> tuple[Arm, ...]:
    """The arms of a robot, the one with most joints first; legs come last.

    Raises:
        NoArm: No joint moves.
    """
    if not robot.free_joints:
        raise NoArm(robot.name, list(robot.links))
    tree = _Tree(robot)
    series = [joints for joints in tree.series(robot.root, []) if joints]
    long = [joints for joints in series if len(joints) >= ARM_JOINTS] or [max(series, key=len)]
    names = _names([[joint.name for joint in joints] for joints in long])
    arms = [tree.arm(name, joints) for name, joints in zip(names, long)]
    return tuple(sorted(arms, key=lambda arm: (_is_leg(arm), -len(arm.joints))))


def choose_arm(robot: Robot, base: str = "", tip: str = "") -> tuple[str, str]:
    """Base and tip of the arm to use: those given, otherwise of the first arm found.

    Raises:
        NoArm: No joint moves.
    """
    if tip:
        return base or robot.root, tip
    arms = find_arms(robot)
    if not base:
        return arms[0].base, arms[0].tip
    below = [arm for arm in arms if arm.base == base]
    return base, (below or arms)[0].tip


def arm_chain(robot: Robot, base: str = "", tip: str = "", locked: Mapping[str, float] | None = None) -> Chain:
    """The chain of an arm, with every joint outside it locked at a position within its limits.

    Args:
        base: Link that stays still; that of the first arm found if not given, or the root if a tip is given.
        tip: End of the arm; that of the first arm found if not given.
        locked: Positions [rad or m] by joint; the others are locked at the position nearest to 0.

    Raises:
        InputError: No such link or joint, or no joint moves between base and tip.
    """
    base, tip = choose_arm(robot, base, tip)
    given = dict(locked or {})
    chain = robot.chain(base, tip, fixed=given)
    others = [name for name, _ in chain.locked if robot.joints[name].mimic is None and name not in given]
    nearest = nearest_to_zero(robot, others)
    moved = {name: value for name, value in nearest.items() if value != 0.0}
    return robot.chain(base, tip, fixed={**given, **moved}) if moved else chain


def nearest_to_zero(robot: Robot, joints: Iterable[str]) -> dict[str, float]:
    """Positions [rad or m] by joint within their limits."""
    return {name: min(max(0.0, robot.joints[name].lower), robot.joints[name].upper) for name in joints}


def gravity_in_base(robot: Robot, chain: Chain) -> Array:
    """Gravity in the base frame of a chain [m/s²], shape (3,), for a robot whose root link stands upright."""
    T_base_root = chain.link_placements[chain.link_names.index(robot.root)][1]
    gravity: Array = T_base_root[:3, :3] @ WEIGHT
    return gravity


class _Tree:
    """Joints below each group of links that are fixed to each other."""

    def __init__(self, robot: Robot):
        self.robot = robot
        self.below: dict[str, list[Joint]] = {name: [] for name in robot.links}
        for joint in robot.joints.values():
            self.below[joint.parent].append(joint)

    @cached_property
    def _counts(self) -> dict[str, int]:
        """How many joints move on their own from each joint on outwards, itself included."""
        counts: dict[str, int] = {}
        for joint in reversed(self._outwards()):
            own = int(joint.type.moves and joint.mimic is None)
            counts[joint.name] = own + sum(counts[child.name] for child in self.below[joint.child])
        return counts

    def _outwards(self) -> list[Joint]:
        ordered, pending = [], list(self.below[self.robot.root])
        while pending:
            joint = pending.pop()
            ordered.append(joint)
            pending += self.below[joint.child]
        return ordered

    def group(self, link: str) -> tuple[list[str], list[Joint]]:
        """Links fixed to a link on its outer side, and the joints that move away from them."""
        links, moving, pending = [], [], [link]
        while pending:
            name = pending.pop(0)
            links.append(name)
            for joint in self.below[name]:
                if joint.type.moves:
                    moving.append(joint)
                else:
                    pending.append(joint.child)
        return links, moving

    def series(self, link: str, joints: list[Joint]) -> list[list[Joint]]:
        """All series of joints from a link outwards; `joints` is the one that leads to it."""
        while True:
            _, moving = self.group(link)
            following = [joint for joint in moving if self._counts[joint.name]]
            longest = max(following, key=lambda joint: self._counts[joint.name], default=None)
            if longest is None or (joints and self._is_finger(longest, moving)):
                return [joints]
            others = [joint for joint in following if joint is not longest]
            side = joints and all(self._counts[joint.name] <= SIDE_JOINTS for joint in others)
            if others and not (side and self._counts[longest.name] > SIDE_JOINTS):
                beyond_arm = len(joints) >= ARM_JOINTS
                found = [] if beyond_arm else [s for joint in following for s in self.series(joint.child, [joint])]
                return [joints, *found]
            joints = [*joints, longest]
            link = longest.child

    def _is_finger(self, joint: Joint, siblings: Sequence[Joint]) -> bool:
        """Whether a joint is the first of a gripper: by name, or because others beside it follow it."""
        followed = any(other.mimic is not None and other.mimic.joint == joint.name for other in siblings)
        count = self._counts[joint.name]
        named = _FINGER.search(joint.name) or (count == 1 and _FINGER.search(joint.child))
        return bool(named) or (count <= 2 and followed)

    def arm(self, name: str, joints: Sequence[Joint]) -> Arm:
        """The arm of a series of joints."""
        carried, beyond = self.group(joints[-1].child)
        own = [joint.name for joint in joints if joint.mimic is None]
        base = joints[0].parent
        if base in self.group(self.robot.root)[0]:
            base = self.robot.root
        return Arm(name, base, self._tip(carried, beyond), tuple(own), self._gripper(beyond))

    def _tip(self, carried: Sequence[str], beyond: Sequence[Joint]) -> str:
        for pattern in _TIPS:
            named = [link for link in carried if pattern.search(link)]
            if named:
                return named[0]
        return beyond[0].parent if beyond else carried[0]

    def _gripper(self, beyond: Sequence[Joint]) -> Gripper | None:
        if not any(self._counts[joint.name] for joint in beyond):
            return None
        links, joints, pending = [], [], list(beyond)
        while pending:
            joint = pending.pop(0)
            links.append(joint.child)
            if joint.type.moves and joint.mimic is None:
                joints.append(joint.name)
            pending += self.below[joint.child]
        return Gripper(tuple(links), tuple(joints), beyond[0].parent)


def _names(series: Sequence[Sequence[str]]) -> list[str]:
    """A name per arm: `arm` for the only one, otherwise what its joints' names have in common."""
    if len(series) == 1:
        return ["arm"]
    names: list[str] = []
    for number, joints in enumerate(series, 1):
        first, last = min(joints), max(joints)
        length = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
        shared = first[:length].strip("_- ")
        shared = re.sub(r"(_?joint)?_?\d*$", "", shared) or f"arm_{number}"
        names.append(shared if shared not in names else f"{shared}_{number}")
    return names


def _is_leg(arm: Arm) -> bool:
    return bool(_LEG.search(arm.tip) or any(_LEG.search(joint) for joint in arm.joints))
