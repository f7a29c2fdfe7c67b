"""Bodies of descriptions that other people wrote (example-robot-data), against their true meshes."""

from __future__ import annotations

from importlib.metadata import files

import numpy as np
import pytest

from geometry.true_shapes import longest_chain, true_collisions
from manipapy_core import Robot
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.geometry.pairs import ADJACENT

COUNT = 500


def installed(path: str) -> Robot:
    found = next(file for file in files("example-robot-data") or () if str(file).endswith(f"robots/{path}"))
    name = found.locate()
    share = next(parent for parent in map(str, name.parents) if parent.endswith("/share"))
    return Robot.from_urdf(str(name), package_paths=[share])


@pytest.mark.parametrize(
    "path",
    ["ur_description/urdf/ur5_robot.urdf", "kinova_description/robots/kinova.urdf", "z1_description/urdf/z1.urdf"],
)
def test_no_self_collision_is_missed_and_false_alarms_are_few(path):
    robot = installed(path)
    chain = longest_chain(robot)
    body = RobotBody.build(robot, chain)
    q = np.random.default_rng(7).uniform(*chain.limits.sampling_range, (COUNT, chain.n))
    reported = Checker(body).check(q)
    adjacent = {names for names, reason in body.ignored.items() if reason == ADJACENT}
    true, _ = true_collisions(robot, chain, q, adjacent)
    assert 0 < true.sum() < COUNT
    assert not (true & ~reported).any(), "a self-collision was missed"
    assert (reported & ~true).sum() <= 0.03 * (~true).sum()


def test_every_pair_of_links_is_checked_or_listed_with_a_reason():
    robot = installed("ur_description/urdf/ur5_robot.urdf")
    chain = longest_chain(robot)
    body = RobotBody.build(robot, chain)
    checked = {frozenset({body.groups[pair.first].name, body.groups[pair.second].name}) for pair in body.pairs}
    text = body.describe()
    for i, first in enumerate(body.groups):
        for second in body.groups[i + 1 :]:
            names = frozenset({first.name, second.name})
            if first.frame != second.frame:
                assert (names in checked) != (names in body.ignored)
                if names in body.ignored:
                    assert f"not checked ({body.ignored[names]}): {' – '.join(sorted(names))}" in text
            else:
                lines = [line for line in text.splitlines() if "fixed to each other" in line]
                assert any(first.name in line and second.name in line for line in lines)
    empty = set(chain.link_names) - {group.name for group in body.groups}
    (line,) = (line for line in text.splitlines() if "without collision shapes" in line)
    assert set(line.partition(": ")[2].split(", ")) == empty
