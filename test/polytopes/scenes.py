"""Scenes for constrained polytopes, and what coal says about them: meshes triangle by triangle."""

from __future__ import annotations

import numpy as np

from geometry.arms import configurations
from manipapy_core import Chain, Robot
from manipapy_core.geometry import Box, Checker, Cylinder, RobotBody, Sphere, World
from manipapy_core.geometry.exact import ExactChecker, ExactLinks
from manipapy_core.polytopes import NearPoints

PATH_STEPS = 4
"""Configurations at which a motion is asked whether it is free, its end included."""


class Truth:
    """Contacts by coal, on the true shapes of the links."""

    def __init__(self, robot: Robot, chain: Chain, body: RobotBody, world: World | None = None):
        self.links, self.body = ExactLinks(robot, chain), body
        self.pairs = [(body.groups[pair.first].name, body.groups[pair.second].name) for pair in body.pairs]
        moving = [group.name for group in body.groups if group.frame > 0]
        objects = () if world is None else world.snapshot().objects.values()
        self.objects = [(name, item) for name in moving for item in objects]

    def collides(self, q) -> bool:
        return self.links.collides(q, self.pairs, self.objects)

    def free_motion(self, q, dq) -> bool:
        return not any(self.collides(q + share * dq) for share in np.arange(1, PATH_STEPS + 1) / PATH_STEPS)


def free_configurations(checker: Checker, truth: Truth, count: int, seed: int = 15):
    """Configurations that the checker and coal find free."""
    found = []
    for block in range(100):
        q = configurations(checker.body.chain, 4 * count, seed=seed + 1000 * block)
        found += [row for row in q[~checker.check(q)][: count - len(found)] if not truth.collides(row)]
        if len(found) >= count:
            break
    return np.array(found)


def cluttered_world(rng, chain: Chain) -> World:
    """Six turned boxes, balls and cylinders around an arm, in sizes that fit its reach."""
    reach = max(0.5, sum(np.linalg.norm(body.T_parent_body[:3, 3]) for body in chain.bodies))
    world = World()
    for index in range(6):
        T = np.eye(4)
        T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        T[:3, :3] *= np.sign(np.linalg.det(T[:3, :3]))
        T[:3, 3] = reach * rng.uniform([-0.8, -0.8, -0.1], [0.8, 0.8, 1.0])
        sizes = rng.uniform(0.05, 0.35, 3)
        shape = (Box(sizes), Sphere(0.4 * sizes[0]), Cylinder(0.3 * sizes[0], sizes[1]))[index % 3]
        world.add(f"object {index}", shape, T)
    return world


def close_configuration(checker: Checker, truth: Truth, rng, seed: int):
    """A free configuration with an object up to some centimetres away, or None."""
    q = configurations(checker.body.chain, 400, seed=seed)
    q = q[~checker.check(q)]
    if not len(q):
        return None
    # Distances from covering spheres: up to 2 cm below the truth.
    distance = checker.distances(q).distance.min(axis=1)
    chosen = q[np.argmin(np.abs(distance - rng.uniform(-0.01, 0.06)))]
    return None if truth.collides(chosen) else chosen


def near_by_coal(chain: Chain, body: RobotBody, world: World, q, influence: float = 0.3) -> NearPoints:
    """The nearest point of every pair, by coal on the same convex parts."""
    contacts = [contact for contact in ExactChecker(body, world).contacts(q) if contact.distance < influence]
    frames = {name: body.frame_of(name) - 1 for name in chain.link_names}
    rows = np.array([[*c.normal, *c.point_first, *c.point_second] for c in contacts]).reshape(-1, 9)
    return NearPoints(
        tuple((c.first, c.second) for c in contacts),
        np.array([c.distance for c in contacts]),
        rows[:, :3],
        rows[:, 3:6],
        np.zeros(len(rows)),
        rows[:, 6:],
        np.array([frames[c.first] for c in contacts], dtype=np.int64),
        np.array([frames.get(c.second, -1) for c in contacts], dtype=np.int64),
        np.array([c.second in frames for c in contacts], dtype=np.bool_),
    )
