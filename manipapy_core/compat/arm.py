"""The serial arm of a robot, meshes as PyBullet finds them, and joint limits as PyBullet reads them."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from pathlib import Path

from ..errors import InputError, ModelError
from ..model import Chain, Joint, JointType, Link, Robot
from ..model.elements import MeshGeometry, Shape


def read_robot(source: str | os.PathLike[str]) -> Robot:
    """The robot of a description; `package://` references are also searched beside its file, as PyBullet does.

    Meshes that are not found are left out with a warning that names them.
    """
    folders: list[Path] = []
    if os.path.isfile(source):
        folder = Path(source).resolve().parent
        folders = [folder, folder.parent]
    robot = Robot.from_urdf(source, check_meshes=False, package_paths=folders)
    meshes = [shape.geometry for link in robot.links.values() for shape in (*link.visuals, *link.collisions)]
    missing = [mesh.uri for mesh in meshes if isinstance(mesh, MeshGeometry) and not mesh.filename]
    if not missing:
        return robot
    warnings.warn(f"{len(missing)} meshes are left out, not found: {', '.join(missing)}", UserWarning, stacklevel=3)
    return dataclasses.replace(robot, links={name: _without_missing(link) for name, link in robot.links.items()})


def _is_missing(shape: Shape) -> bool:
    return isinstance(shape.geometry, MeshGeometry) and not shape.geometry.filename


def _without_missing(link: Link) -> Link:
    visuals, collisions = (
        tuple(shape for shape in shapes if not _is_missing(shape)) for shapes in (link.visuals, link.collisions)
    )
    return dataclasses.replace(link, visuals=visuals, collisions=collisions)


def serial_arm(robot: Robot, tip: str | None = None) -> Chain:
    """The chain from the root to the end of the arm.

    From every link it follows the branch with the most joints. It ends before a gripper: joints that mimic others, or
    are mimicked, belong to no arm, and neither do equal branches with fewer joints than the arm before them, its
    fingers; from there on it follows fixed joints only (to `tool0`, for example).

    Args:
        tip: The last link, in place of this rule.

    Raises:
        InputError: Several branches are equally long, as the arms of a torso; the message names their ends.
    """
    if tip is not None:
        return robot.chain(robot.root, tip)
    coupled = {joint.name for joint in robot.joints.values() if joint.mimic is not None}
    coupled |= {joint.mimic.joint for joint in robot.joints.values() if joint.mimic is not None}
    below: dict[str, list[Joint]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        if joint.name not in coupled:
            below[joint.parent].append(joint)

    downwards = [robot.root]
    for link in downwards:
        downwards += [joint.child for joint in below[link]]
    # Moving joints, then joints of any kind, on the longest path down from each link, and where it ends.
    reach: dict[str, tuple[int, int]] = {}
    ends: dict[str, str] = {}

    def beyond(joint: Joint) -> tuple[int, int]:
        moving, length = reach[joint.child]
        return moving + joint.type.moves, length + 1

    for link in reversed(downwards):
        longest = max(below[link], key=beyond, default=None)
        reach[link] = (0, 0) if longest is None else beyond(longest)
        ends[link] = link if longest is None else ends[longest.child]

    link, behind = robot.root, 0
    while below[link]:
        branches = sorted(below[link], key=beyond, reverse=True)
        most = beyond(branches[0])[0]
        equal = [joint for joint in branches if beyond(joint)[0] == most > 0]
        if len(equal) > 1:
            if most >= behind:
                tips = ", ".join(repr(ends[joint.child]) for joint in equal)
                raise InputError(
                    f"robot {robot.name!r} has {len(equal)} branches of {most} joints from link {link!r}; choose the "
                    f"end of its arm with tip_link, one of {tips}, or use Robot.from_urdf(...).chain(base, tip)"
                )
            branches = [joint for joint in branches if beyond(joint)[0] == 0]
        if not branches:
            break
        link, behind = branches[0].child, behind + branches[0].type.moves
    if link == robot.root:
        raise InputError(f"robot {robot.name!r} has no arm: no joint leads from its root {robot.root!r}")
    return robot.chain(robot.root, link)


def pybullet_limits(robot: Robot) -> dict[str, tuple[float, float]]:
    """Position limits [rad] of all revolute joints as PyBullet reads them; (-π, π) for continuous ones.

    Raises:
        SimulationUnavailable: PyBullet is not installed; the message names the extra.
    """
    from ..sim.bullet import BulletClient
    from ..sim.bullet.robot_file import load_robot

    limits = {}
    with BulletClient() as client:

        def load(path: str) -> int:
            try:
                return client.loadURDF(path, useFixedBase=True)
            except client.bullet.error as error:
                cure = "pass use_pybullet_limits=False to keep the (-π, π) limits"
                raise ModelError(robot.name, [f"PyBullet cannot load it ({error}); {cure}"]) from error

        # Without shapes: limits do not need the meshes.
        body = load_robot(load, robot, visuals=False, collisions=False)
        for index in range(client.getNumJoints(body)):
            info = client.getJointInfo(body, index)
            name, kind, lower, upper = info[1].decode(), info[2], info[8], info[9]
            if kind == client.JOINT_REVOLUTE:
                continuous = robot.joints[name].type is JointType.CONTINUOUS
                limits[name] = (-math.pi, math.pi) if continuous else (lower, upper)
    return limits
