"""The public interface of the checker: batches, motions, threads, bad input, addresses."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from geometry.arms import arm, at, configurations, table_world
from manipapy_core import Robot, kinematics, lie
from manipapy_core.errors import InputError, NotFiniteError, ShapeError
from manipapy_core.geometry import Box, Checker, Cylinder, RobotBody, Sphere, World
from manipapy_core.geometry.body import link_frames

GRAINS = (Sphere(1e-3), Box([1e-3, 1e-3, 1e-3]), Cylinder(1e-3, 1e-3))


@pytest.fixture(scope="module")
def checker():
    return Checker(arm("panda")[2], table_world())


def test_batches_of_any_shape_give_the_same_results(checker):
    q = configurations(checker.body.chain, 60)
    reported = checker.check(q)
    assert reported.dtype == bool and reported.any() and not reported.all()
    assert np.array_equal(checker.check(q.reshape(3, 4, 5, 7)), reported.reshape(3, 4, 5))
    assert np.array_equal([checker.collides(row) for row in q], reported)
    for count in range(1, 20):
        assert np.array_equal(checker.check(q[:count]), reported[:count])
    assert np.array_equal(checker.check(q[::-1]), reported[::-1])
    assert checker.check(q[:0]).shape == (0,)
    assert np.mean(checker.check(q.astype(np.float32)) == reported) > 0.98


def test_object_in_the_middle_of_a_part_collides():
    """Coinciding centres leave no direction to begin with."""
    _, chain, body = arm("panda")
    q = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
    world = World()
    checker = Checker(body, world)
    assert not checker.collides(q)
    poses, frames = kinematics.link_poses(chain, q), link_frames(chain)
    tested = 0
    for group in body.groups:
        if group.frame < 2:
            continue
        R, p = frames[group.name]
        T_base_frame = poses[chain.link_names.index(group.name)] @ lie.inverse(lie.pose(R, p))
        for part in group.parts:
            for grain in GRAINS:
                # On the base it is compared part by part; in the world, by spheres first.
                world.add("grain", grain, T_base_frame @ part.T_frame_shape)
                assert checker.collides(q)
                world.attach("grain", chain.base, T_base_frame @ part.T_frame_shape)
                assert checker.collides(q)
                world.detach("grain", at(3.0))
                assert not checker.collides(q)
                tested += 1
    assert tested > 60


def test_full_turns_of_a_joint_change_nothing():
    _, chain, body = arm("ur5")
    checker = Checker(body, table_world())
    q = configurations(chain, 2000)
    assert np.mean(checker.check(q) == checker.check(q + 4 * np.pi)) > 0.998


@pytest.mark.parametrize("step", [0.5, 0.05, 0.01])
def test_motions_collide_where_their_samples_do(checker, step):
    q = configurations(checker.body.chain, 400)
    a, b = q[:200], q[:200] + 0.2 * (q[200:] - q[:200])
    reported = checker.check_edges(a, b, step)
    for begin, end, answer in zip(a, b, reported):
        # As dense as the checker samples at least
        fine = np.linspace(begin, end, 400)
        coarse_hit = checker.check(np.array([begin, end])).any()
        if coarse_hit:
            assert answer
        if answer:
            assert checker.check(fine).any() or step >= 0.01
    assert reported.any() and not reported.all()


def test_motion_through_an_obstacle_between_free_ends_collides(checker):
    q = configurations(checker.body.chain, 4000)
    free = q[~checker.check(q)]
    a, b = free[:500], free[500:1000]
    inside = np.array([checker.check(np.linspace(x, y, 500)).any() for x, y in zip(a, b)])
    reported = checker.check_edges(a, b, 0.02)
    assert inside.sum() > 100
    assert np.mean(reported == inside) > 0.97


def test_motions_of_zero_length_are_configurations(checker):
    q = configurations(checker.body.chain, 100)
    assert np.array_equal(checker.check_edges(q, q, 0.1), checker.check(q))


def test_threads_share_a_checker(checker):
    q = configurations(checker.body.chain, 4000)
    expected = checker.check(q)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: checker.check(q), range(12)))
    assert all(np.array_equal(result, expected) for result in results)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_unusable_positions_are_reported_with_their_index(checker, value):
    q = configurations(checker.body.chain, 20)
    q[13, 4] = value
    for call in (checker.check, checker.distances, lambda q: checker.check_edges(q, q, 0.1)):
        with pytest.raises(NotFiniteError) as caught:
            call(q)
        assert caught.value.index == (13, 4)


def test_wrong_arguments_are_refused(checker):
    q = np.zeros(7)
    with pytest.raises(ShapeError):
        checker.check(np.zeros(6))
    with pytest.raises(ShapeError):
        checker.collides(np.zeros((2, 7)))
    with pytest.raises(InputError, match="real numbers"):
        checker.check(["a"] * 7)
    for step in (0.0, -1.0, float("nan"), float("inf"), "small"):
        with pytest.raises(InputError, match="step"):
            checker.check_edges(q, q, step)
    with pytest.raises(InputError, match="broadcast"):
        checker.check_edges(np.zeros((3, 7)), np.zeros((2, 7)), 0.1)


def test_chain_of_another_robot_is_refused():
    robot, _, _ = arm("ur5")
    with pytest.raises(InputError, match="cut it from this robot"):
        RobotBody.build(robot, arm("panda")[1])


def test_raw_addresses_give_the_same_results(checker):
    raw = checker.raw()
    q = configurations(checker.body.chain, 100)
    work, out = np.empty(raw.work_floats, dtype=np.float32), np.empty(100, dtype=np.uint8)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    check = ctypes.CFUNCTYPE(number, pointer, pointer, number, pointer, pointer)(raw.check)
    assert check(raw.scene, q.ctypes.data, len(q), work.ctypes.data, out.ctypes.data) == 0
    assert np.array_equal(out.astype(bool), checker.check(q))
    edge = ctypes.CFUNCTYPE(number, pointer, pointer, pointer, number, pointer)(raw.edge)
    length = np.linalg.norm(q[1] - q[0])
    strides = int(np.ceil(length / 0.05) + raw.lanes) // raw.lanes
    hit = edge(raw.scene, q[0].ctypes.data, q[1].ctypes.data, strides, work.ctypes.data)
    assert bool(hit) == checker.check_edges(q[0], q[1], 0.05)


def test_description_names_links_and_reasons():
    text = arm("panda")[2].describe()
    assert "checked: " in text and "adjacent" in text and "never in contact" in text


def test_flat_end_of_a_cylinder_is_where_it_is_in_every_direction(tmp_path):
    """Rounding once moved the point farthest along a cylinder's own axis by up to its radius."""
    shape = '<collision><geometry><cylinder radius="0.05" length="0.2"/></geometry></collision>'
    names = ["base", "a", "b", "rod"]
    links = "".join(f'<link name="{name}">{shape if name == "rod" else ""}</link>' for name in names)
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="{names[i]}"/><child link="{names[i + 1]}"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
        for i, axis in enumerate(("1 0 0", "0 1 0", "0 0 1"))
    )
    (tmp_path / "rod.urdf").write_text(f'<robot name="rod">{links}{joints}</robot>')
    robot = Robot.from_urdf(tmp_path / "rod.urdf")
    chain = robot.chain("base", "rod")
    body = RobotBody.build(robot, chain, keep=False)
    box, turned = Box([0.3, 0.3, 0.1]), lie.pose(lie.exp_so3(np.array([0.7, 0.5, 0.0])))
    corner = -turned[:3, :3] @ np.copysign(0.5 * box.size, turned[2, :3])  # points at the flat end
    for q in np.random.default_rng(2).uniform(-3.0, 3.0, (150, 3)):
        for gap, expected in ((4e-4, False), (-1e-5, True)):
            world = World()
            world.add("box", box, kinematics.forward(chain, q) @ at(*([0.02, 0.03, 0.1 + gap] - corner)) @ turned)
            assert Checker(body, world).collides(q) is expected
