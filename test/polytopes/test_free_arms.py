"""Free arms keep their polytopes, and motions inside constrained ones are free: judged by coal."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import ENDS, arm, at
from manipapy_core import polytopes
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, Octomap, Plane, PointCloud, RobotBody, World
from manipapy_core.model import Robot
from manipapy_core.polytopes.corner_check import CornerCheck
from polytopes.scenes import Truth, close_configuration, cluttered_world, free_configurations, near_by_coal


@pytest.mark.parametrize("name", ENDS)
def test_a_free_arm_in_an_empty_world_keeps_its_polytopes(name):
    robot, chain, body = arm(name)
    truth = Truth(robot, chain, body)
    kept, moved = [], []
    for q in free_configurations(Checker(body), truth, 40):
        near = polytopes.near_points(body, None, q)
        motion = polytopes.motion_polytope(chain, q, near=near)
        assert not motion.is_empty and motion.contains(np.zeros(3))
        free = polytopes.velocity_polytope(chain, q).volume
        kept.append(polytopes.velocity_polytope(chain, q, near=near).volume / free)
        moved.append(motion.volume / polytopes.motion_polytope(chain, q).volume)
    assert np.median(kept) > 0.95 and min(kept) > 0.1
    assert np.median(moved) > 0.95 and min(moved) > 0.05


def test_rows_are_broken_by_free_motions_only_within_the_linearisation():
    """Motions of up to 0.02 rad per joint; the distance of a link changes by less than 1 mm more than its row says."""
    robot, chain, body = arm("ur5")
    truth, rng = Truth(robot, chain, body), np.random.default_rng(3)
    worst = 0.0
    for q in free_configurations(Checker(body), truth, 25):
        near = polytopes.near_points(body, None, q)
        joints = polytopes.motion_set(chain, q, linearisation=0.02, position_limits=False, near=near)
        for dq in rng.choice([-0.02, 0.02], (10, chain.n)):
            if truth.free_motion(q, dq):
                worst = max(worst, float((joints.A @ dq - joints.b).max(initial=-1.0)))
    assert worst < 1e-3


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_corners_of_the_motion_polytope_are_free_beside_obstacles(name):
    robot, chain, body = arm(name)
    rng = np.random.default_rng(1)
    corners, hits, shares, cut, linear_hits = 0, 0, [], 0, 0
    for scene in range(14):
        world = cluttered_world(rng, chain)
        truth = Truth(robot, chain, body, world)
        q = close_configuration(Checker(body, world), truth, rng, scene)
        if q is None:
            continue
        near = polytopes.near_points(body, world, q)
        found = polytopes.motion_polytope(chain, q, near=near)
        linear = polytopes.motion_polytope(chain, q, near=near, curvature=False)
        by_coal = polytopes.motion_polytope(chain, q, near=near_by_coal(chain, body, world, q), curvature=False)
        corners += len(found.preimages)
        hits += sum(truth.collides(q + dq) for dq in found.preimages)
        linear_hits += sum(truth.collides(q + dq) for dq in linear.preimages)
        shares.append(found.volume / by_coal.volume)
        cut += found.volume < 0.98 * polytopes.motion_polytope(chain, q).volume
    assert cut >= 4 and corners > 200 and linear_hits > 0
    assert hits <= 0.001 * corners
    assert np.median(shares) > 0.8


@pytest.mark.parametrize("kind", ["cloud", "octomap", "plane"])
def test_other_shapes_give_the_rows_of_a_box(kind):
    """The same wall as a box, as points, as cells and as a half space."""
    _, chain, body = arm("panda")
    q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])
    y, z = (x.ravel() for x in np.meshgrid(np.arange(-0.6, 0.6, 0.02), np.arange(0.0, 1.2, 0.02)))
    shape = {
        "cloud": PointCloud(np.column_stack([np.full(y.size, 0.44), y, z])),
        "octomap": Octomap(np.column_stack([np.full(y.size, 0.45), y + 0.01, z + 0.01]), np.full(y.size, 0.02)),
        "plane": Plane(np.array([-1.0, 0.0, 0.0]), -0.44),
    }[kind]
    walls = World(), World()
    walls[0].add("wall", Box(np.array([0.02, 1.2, 1.2])), at(0.45, 0.0, 0.6))
    walls[1].add("wall", shape, np.eye(4))
    wanted, found = (polytopes.near_points(body, world, q, self_collision=False) for world in walls)
    nearest = [{names[0]: d for names, d in reversed(list(zip(near.names, near.distance)))} for near in (wanted, found)]
    assert nearest[0].keys() == nearest[1].keys()
    # Points are up to 14 mm beside the nearest one of the wall.
    slack = 0.004 if kind == "cloud" else 1e-5
    assert all(0.0 - 1e-5 <= nearest[1][link] - d < slack for link, d in nearest[0].items())
    assert (found.normal[:3] @ [1.0, 0.0, 0.0] > 0.9).all()
    volumes = [polytopes.motion_polytope(chain, q, near=near).volume for near in (wanted, found)]
    assert volumes[0] < 0.8 * polytopes.motion_polytope(chain, q).volume
    assert volumes[1] == pytest.approx(volumes[0], rel=0.12)


def test_an_overlap_may_be_left_but_not_deepened():
    _, chain, body = arm("panda")
    q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])
    clear = polytopes.near_points(body, _wall(0.7), q, self_collision=False, influence=1.0)
    world = _wall(0.7 - float(clear.distance[0]) - 0.005)
    near = polytopes.near_points(body, world, q, self_collision=False)
    assert near.distance[0] == pytest.approx(-0.005, abs=1e-3)
    joints = polytopes.motion_set(chain, q, near=near)
    rows = polytopes.obstacle_rows(chain, q, near)[:1]
    assert joints.contains(np.zeros(7)) and not joints.contains(0.01 * rows[0] / np.linalg.norm(rows[0]))
    assert not polytopes.motion_polytope(chain, q, near=near).is_empty


def _wall(x: float) -> World:
    world = World()
    world.add("wall", Box(np.array([0.02, 2.0, 2.0])), at(x + 0.01, 0.0, 0.6))
    return world


def test_links_that_never_come_near_have_no_rows():
    _, chain, body = arm("gen3")
    ignored = {
        frozenset({body.groups[pair.first].name, body.groups[pair.second].name})
        for pair in body.pairs
        if not pair.comes_near
    }
    told = {frozenset(names) for q in np.random.default_rng(0).uniform(-2, 2, (20, chain.n))
            for names in polytopes.near_points(body, None, q, influence=5.0).names}  # fmt: skip
    assert told and not told & ignored


def test_configurations_are_checked():
    _, _, body = arm("panda")
    with pytest.raises(InputError, match="7 joints"):
        polytopes.near_points(body, None, np.full(7, np.nan))


def test_near_points_of_a_robot_without_pairs():
    text = """<robot name="pole"><link name="a"/><link name="b"><collision><geometry><sphere radius="0.1"/></geometry>
    </collision></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    robot = Robot.from_urdf(text)
    body = RobotBody.build(robot, robot.chain("a", "b"))
    assert len(polytopes.near_points(body, None, [0.0])) == 0


FORK = """<robot name="fork"><link name="base"/><link name="rail"/>
<link name="fork"><collision><origin xyz="0 0.06 0"/><geometry><box size="0.1 0.02 0.02"/></geometry></collision>
<collision><origin xyz="0 -0.06 0"/><geometry><box size="0.1 0.02 0.02"/></geometry></collision></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="rail"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="y" type="prismatic"><parent link="rail"/><child link="fork"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_both_prongs_of_a_fork_bound_the_motion_to_what_is_between_them():
    robot = Robot.from_urdf(FORK)
    chain = robot.chain("base", "fork")
    body, world = RobotBody.build(robot, chain), World()
    world.add("pin", Box(np.full(3, 0.02)), at(0.0, 0.02, 0.0))  # 2 cm from one prong, 6 cm from the other
    near = polytopes.near_points(body, world, np.zeros(2))
    lower, upper = polytopes.motion_polytope(chain, np.zeros(2), near=near, directions=[[0.0, 1.0, 0.0]]).bounds
    assert 0.055 < upper[0] <= 0.06 and -0.02 <= lower[0] < -0.018
    kept = polytopes.motion_polytope(chain, np.zeros(2), near=near, directions=[[0.0, 1.0, 0.0]], security=0.005).bounds
    assert 0.05 < kept[1][0] <= 0.055 and -0.015 <= kept[0][0] < -0.0135
    speeds = polytopes.velocity_polytope(chain, np.zeros(2), near=near, directions=[[0.0, 1.0, 0.0]]).bounds
    assert -0.1 < speeds[0][0] < 0.0 < speeds[1][0] < 0.3


def test_a_corner_that_touches_is_cut_off_at_the_first_contact():
    """The check alone, without rows, finds both contacts of the fork and where their points are at the start."""
    robot = Robot.from_urdf(FORK)
    chain = robot.chain("base", "fork")
    body, world = RobotBody.build(robot, chain), World()
    world.add("pin", Box(np.full(3, 0.02)), at(0.0, 0.02, 0.0))
    check = CornerCheck(polytopes.near_points(body, world, np.zeros(2)).origin, np.zeros(2))
    near, motions, share = check.first_contacts(np.array([[0.0, 0.08], [0.0, -0.05], [0.1, 0.0]]))
    assert sorted(motions[:, 1]) == [-0.05, 0.08]
    for way, distance in ((0.08, 0.06), (-0.05, 0.02)):
        k = int(np.flatnonzero(motions[:, 1] == way)[0])
        assert near.distance[k] == pytest.approx(distance, abs=1e-6)
        assert near.normal[k] == pytest.approx([0.0, np.sign(way), 0.0], abs=1e-6)
        assert share[k] == pytest.approx(distance / abs(way), abs=3e-3)
    assert check.first_contacts(np.array([[0.1, 0.0], [0.0, 0.05]])) is None
