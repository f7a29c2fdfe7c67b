"""Self-collisions by coal on collision shapes as they are described, meshes triangle by triangle."""

from __future__ import annotations

import coal
import numpy as np

from manipapy_core import Chain, Robot, kinematics
from manipapy_core.geometry.exact import ExactLinks

FIRST = 200
"""Configurations in which all pairs are compared: those in contact in each of them may be in contact always."""


def longest_chain(robot: Robot) -> Chain:
    """From the root to the link with most moving joints on the way; of equals, the first."""
    by_child = {joint.child: joint for joint in robot.joints.values()}

    def joints_to(link: str) -> int:
        count = 0
        while link in by_child:
            joint = by_child[link]
            count += joint.type.moves and joint.mimic is None
            link = joint.parent
        return count

    return robot.chain(robot.root, max(robot.links, key=joints_to))


def true_collisions(
    robot: Robot, chain: Chain, q: np.ndarray, adjacent: set[frozenset[str]]
) -> tuple[np.ndarray, dict[int, frozenset[str]]]:
    """Which configurations collide by the true shapes, and a pair of links that does so in each."""
    exact = ExactLinks(robot, chain)
    frames = dict(zip(chain.link_names, (body for body, _ in chain.link_placements)))
    links = [name for name in chain.link_names if robot.links[name].collisions]
    shapes = {name: exact.shapes(name) for name in links}
    pairs = [
        (a, b)
        for i, a in enumerate(links)
        for b in links[i + 1 :]
        if frames[a] != frames[b] and frozenset({a, b}) not in adjacent
    ]
    poses = kinematics.link_poses(chain, q)
    number = {name: index for index, name in enumerate(chain.link_names)}
    request = coal.CollisionRequest()

    def touch(pair: tuple[str, str], row: int) -> bool:
        placed = [[(shape, poses[row, number[link]] @ T) for shape, T in shapes[link]] for link in pair]
        return any(
            coal.collide(
                one, coal.Transform3s(T[:3, :3], T[:3, 3]), other, coal.Transform3s(U[:3, :3], U[:3, 3]), request,
                coal.CollisionResult(),
            )
            for one, T in placed[0]
            for other, U in placed[1]
        )  # fmt: skip

    first = range(min(FIRST, len(q)))
    always = [pair for pair in pairs if all(touch(pair, row) for row in first)]
    always = [pair for pair in always if all(touch(pair, row) for row in range(len(q)))]
    rest = [pair for pair in pairs if pair not in always]
    hits: dict[int, frozenset[str]] = {}
    for row in range(len(q)):
        for index, pair in enumerate(rest):
            if touch(pair, row):
                hits[row] = frozenset(pair)
                rest.insert(0, rest.pop(index))  # the same pair is likely to collide next
                break
    true = np.zeros(len(q), dtype=np.bool_)
    true[list(hits)] = True
    return true, hits
