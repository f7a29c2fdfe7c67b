"""The bundled robots wear shapes that fit: collision close to what is drawn, and clear of itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import model
from manipapy_core.model import BoxGeometry, CylinderGeometry, Robot, Shape, SphereGeometry
from model.published_figures import ARMS, Array, PublishedArm

ROBOTS = Path(model.__file__).parent / "robots"
each_arm = pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)


def distance_to(shapes: Sequence[Shape], points: Array) -> Array:
    """Distance of points to the nearest shape, negative inside [m], shape (points,)."""
    return np.min([_distance(shape, points) for shape in shapes], axis=0)


def _distance(shape: Shape, points: Array) -> Array:
    local = (points - shape.T_link_shape[:3, 3]) @ shape.T_link_shape[:3, :3]
    match shape.geometry:
        case SphereGeometry(radius):
            return np.linalg.norm(local, axis=1) - radius
        case CylinderGeometry(radius, length):
            beyond = np.stack([np.hypot(local[:, 0], local[:, 1]) - radius, np.abs(local[:, 2]) - length / 2], axis=1)
        case BoxGeometry() as box:
            beyond = np.abs(local) - box.size / 2
    return np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)


def surface_of(shapes: Sequence[Shape]) -> Array:
    """Points on the surface of a group of shapes, in the link frame [m], shape (points, 3)."""
    return np.concatenate([_surface(shape) for shape in shapes])


def _surface(shape: Shape) -> Array:
    turn, step = np.meshgrid(np.linspace(0, 2 * np.pi, 24, endpoint=False), np.linspace(-1, 1, 11))
    turn, step = turn.ravel(), step.ravel()
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    match shape.geometry:
        case SphereGeometry(radius):
            ring = np.sqrt(1 - step**2)
            local = radius * np.column_stack([circle * ring[:, None], step])
        case CylinderGeometry(radius, length):
            side = np.column_stack([radius * circle, length / 2 * step])
            disc = radius * circle * np.abs(step)[:, None]
            lid = np.full(len(step), length / 2)
            local = np.concatenate([side, np.column_stack([disc, lid]), np.column_stack([disc, -lid])])
        case BoxGeometry() as box:
            grid = np.stack(np.meshgrid(*3 * [np.linspace(-0.5, 0.5, 7)]), axis=-1).reshape(-1, 3)
            local = box.size * grid[np.abs(grid).max(axis=1) == 0.5]
    return local @ shape.T_link_shape[:3, :3].T + shape.T_link_shape[:3, 3]


@each_arm
def test_every_body_is_drawn_and_can_be_hit(arm):
    for link in Robot.from_urdf(arm.name).links.values():
        if link.inertial is not None:
            assert link.visuals, link.name
            assert link.collisions, link.name
            assert len(link.collisions) <= 8, link.name


@each_arm
def test_every_visual_has_a_colour(arm):
    for link in Robot.from_urdf(arm.name).links.values():
        for shape in link.visuals:
            assert shape.rgba is not None and shape.rgba[3] == 1.0, link.name


@each_arm
def test_collision_shapes_hold_what_is_drawn(arm):
    for link in Robot.from_urdf(arm.name).links.values():
        if link.visuals:
            assert distance_to(link.collisions, surface_of(link.visuals)).max() < 0.012, link.name


@each_arm
def test_collision_shapes_hold_little_more_than_what_is_drawn(arm):
    for link in Robot.from_urdf(arm.name).links.values():
        if link.visuals:
            assert distance_to(link.visuals, surface_of(link.collisions)).max() < 0.025, link.name


class SelfCollision:
    """Pairs of bodies that touch, neighbours on a joint left out, by Pinocchio and Coal."""

    def __init__(self, arm: PublishedArm):
        path = str(ROBOTS / f"{arm.name}.urdf")
        self.model = pin.buildModelFromUrdf(path)
        self.shapes = pin.buildGeomFromUrdf(self.model, path, pin.GeometryType.COLLISION)
        parents = self.model.parents
        owners = [shape.parentJoint for shape in self.shapes.geometryObjects]
        for first, a in enumerate(owners):
            for second in range(first):
                b = owners[second]
                if a != b and parents[a] != b and parents[b] != a:
                    self.shapes.addCollisionPair(pin.CollisionPair(second, first))
        self.joints = [self.model.joints[self.model.getJointId(name)].idx_v for name in arm.joints]

    def pairs(self, q: Sequence[float]) -> set[frozenset[str]]:
        v = np.zeros(self.model.nv)
        v[self.joints] = q
        placed = self.shapes.createData()
        position = pin.integrate(self.model, pin.neutral(self.model), v)
        pin.updateGeometryPlacements(self.model, self.model.createData(), self.shapes, placed, position)
        pin.computeCollisions(self.shapes, placed, False)
        return {
            frozenset(self._link(index) for index in (pair.first, pair.second))
            for pair, result in zip(self.shapes.collisionPairs, placed.collisionResults)
            if result.isCollision()
        }

    def _link(self, index: int) -> str:
        return self.model.frames[self.shapes.geometryObjects[index].parentFrame].name


@each_arm
def test_arm_at_home_does_not_touch_itself(arm):
    assert SelfCollision(arm).pairs(arm.home) == set()


# Joint 4 of the Panda and of the FR3 cannot be straight, so their zero pose is none of the robot.
@pytest.mark.parametrize("arm", [arm for arm in ARMS if arm.name not in ("panda", "fr3")], ids=lambda arm: arm.name)
def test_arm_at_zero_does_not_touch_itself(arm):
    assert SelfCollision(arm).pairs((0.0,) * len(arm.joints)) == set()


def test_folded_arm_touches_itself():
    (ur5,) = (arm for arm in ARMS if arm.name == "ur5")
    assert frozenset({"upper_arm_link", "wrist_1_link"}) in SelfCollision(ur5).pairs((0, -1.0, 3.0, 0, 0, 0))
