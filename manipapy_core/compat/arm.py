"""The serial arm of a robot, and its joint limits as PyBullet reads them."""

from __future__ import annotations

import math

from ..errors import InputError, ModelError
from ..model import Chain, Joint, JointType, Robot


def serial_arm(robot: Robot) -> Chain:
    """The chain from the root to the end of the arm.

    From every link it follows the branch with the most joints. It ends where two branches have equally many, as at a
    torso, and before a gripper: joints that mimic others, or are mimicked, belong to no arm. From there on it follows
    fixed joints only (to `tool0`, for example).
    """
    coupled = {joint.name for joint in robot.joints.values() if joint.mimic is not None}
    coupled |= {joint.mimic.joint for joint in robot.joints.values() if joint.mimic is not None}
    below: dict[str, list[Joint]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        if joint.name not in coupled:
            below[joint.parent].append(joint)

    downwards = [robot.root]
    for link in downwards:
        downwards += [joint.child for joint in below[link]]
    # Moving joints, then joints of any kind, on the longest path down from each link.
    reach: dict[str, tuple[int, int]] = {}

    def beyond(joint: Joint) -> tuple[int, int]:
        moving, length = reach[joint.child]
        return moving + joint.type.moves, length + 1

    for link in reversed(downwards):
        reach[link] = max((beyond(joint) for joint in below[link]), default=(0, 0))

    link = robot.root
    while below[link]:
        branches = sorted(below[link], key=beyond, reverse=True)
        moving = [beyond(joint)[0] for joint in branches]
        if len(branches) > 1 and moving[0] == moving[1] > 0:
            branches = [joint for joint in branches if beyond(joint)[0] == 0]
        if not branches:
            break
        link = branches[0].child
    if link == robot.root:
        raise InputError(
            f"robot {robot.name!r} has no single serial arm; choose its ends with Robot.from_urdf(...).chain(base, tip)"
        )
    return robot.chain(robot.root, link)


def pybullet_limits(robot: Robot) -> dict[str, tuple[float, float]]:
    """Position limits [rad] of all revolute joints as PyBullet reads them; (-π, π) for continuous ones.

    Raises:
        SimulationUnavailable: PyBullet is not installed; the message names the extra.
    """
    from ..sim.bullet import BulletClient
    from ..sim.robot_file import load_robot

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
