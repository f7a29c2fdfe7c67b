"""The bundled robots with a table full of boxes, and the same scene in coal, by way of Pinocchio."""

from __future__ import annotations

import functools
import math

import coal
import numpy as np
import pinocchio as pin

from manipapy_core import Chain, Robot
from manipapy_core.geometry import Box, RobotBody, World
from manipapy_core.geometry.pairs import ADJACENT, ALWAYS_TOUCHING

ENDS = {
    "ur5": ("base_link", "tool0"),
    "ur10e": ("base_link", "tool0"),
    "panda": ("panda_link0", "panda_hand_tcp"),
    "iiwa14": ("iiwa_link_0", "iiwa_link_ee"),
    "xarm6": ("link_base", "link_eef"),
    "gen3": ("base_link", "end_effector_link"),
}


@functools.cache
def arm(name: str) -> tuple[Robot, Chain, RobotBody]:
    robot = Robot.from_urdf(name)
    chain = robot.chain(*ENDS[name])
    return robot, chain, RobotBody.build(robot, chain)


def at(x: float = 0.0, y: float = 0.0, z: float = 0.0):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def table_boxes(seed: int = 0, count: int = 20):
    """Centres and half lengths [m]: a table top and boxes of all heights on it, around the robot."""
    rng = np.random.default_rng(1000 + seed)
    boxes = [[0.35, 0.0, -0.06, 0.7, 0.8, 0.04]]
    while len(boxes) < count:
        angle, distance = rng.uniform(-1.9, 1.9), rng.uniform(0.38, 0.8)
        half = rng.uniform([0.03, 0.03, 0.05], [0.07, 0.07, 0.22])
        boxes.append([distance * math.cos(angle), distance * math.sin(angle), -0.02 + half[2], *half])
    return np.array(boxes)


def table_world(seed: int = 0) -> World:
    world = World()
    for index, row in enumerate(table_boxes(seed)):
        world.add(f"box {index}", Box(2 * row[3:]), at(*row[:3]))
    return world


def configurations(chain: Chain, count: int, seed: int = 15):
    return np.random.default_rng(seed).uniform(*chain.limits.sampling_range, (count, chain.n))


class CoalScene:
    """Truth by another route: Pinocchio reads the description, places the shapes, and coal compares them.

    Only pairs of adjacent links and those that overlap by construction are left out; pairs that the library takes
    as never meeting are compared here.
    """

    def __init__(self, robot: Robot, chain: Chain, body: RobotBody, shapes):
        """`shapes` are pairs of a coal geometry and its pose."""
        model = pin.buildModelFromXML(robot.urdf)
        geometry = pin.buildGeomFromUrdfString(model, robot.urdf, pin.GeometryType.COLLISION)
        locked = [i for i in range(1, model.njoints) if model.names[i] not in chain.joint_names]
        if locked:
            model, geometry = pin.buildReducedModel(model, geometry, locked, pin.neutral(model))
        geometry.removeAllCollisionPairs()
        # Copied now: adding objects moves the others in memory, and references to them would dangle.
        links = [solid.name.rsplit("_", 1)[0] for solid in geometry.geometryObjects]
        joints = [int(solid.parentJoint) for solid in geometry.geometryObjects]
        for index, (shape, T) in enumerate(shapes):
            placed = pin.GeometryObject(f"object {index}", 0, 0, pin.SE3(T[:3, :3], T[:3, 3]), shape)
            geometry.addGeometryObject(placed)
        ignored = {names for names, reason in body.ignored.items() if reason in (ADJACENT, ALWAYS_TOUCHING)}
        for a in range(len(links)):
            for b in range(a + 1, len(links)):
                if joints[a] != joints[b] and frozenset({links[a], links[b]}) not in ignored:
                    geometry.addCollisionPair(pin.CollisionPair(a, b))
            if joints[a] > 0:
                for index in range(len(shapes)):
                    geometry.addCollisionPair(pin.CollisionPair(a, len(links) + index))
        self.model, self.geometry = model, geometry
        self.data, self.geometry_data = model.createData(), geometry.createData()
        self.joints = [model.joints[model.getJointId(name)] for name in chain.joint_names]

    def check(self, q):
        full = pin.neutral(self.model)
        hits = np.zeros(len(q), dtype=bool)
        for row, positions in enumerate(q):
            for joint, position in zip(self.joints, positions):
                turning_endlessly = joint.nq == 2
                values = [math.cos(position), math.sin(position)] if turning_endlessly else [position]
                full[joint.idx_q : joint.idx_q + joint.nq] = values
            hits[row] = pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, full, True)
        return hits


def coal_table(seed: int = 0):
    return [(coal.Box(*(2 * row[3:])), at(*row[:3])) for row in table_boxes(seed)]


def union_distance(parts, points):
    """Signed distance of points to the union of parts [m]; inside, never deeper than the truth."""
    return np.min([part.signed_distance(points) for part in parts], axis=0)
