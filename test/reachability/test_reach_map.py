"""Reachability maps against inverse kinematics, files, interrupted builds, and builds over processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import Robot, ik, kinematics, singularity
from manipapy_core.compiler import kernels_of
from manipapy_core.geometry import Checker
from manipapy_core.reachability import InvalidMap, MapMismatch, MapSpec, build, build_map, load_map, save_map, voxels
from manipapy_core.reachability.grid4 import SECTORS, TURN, open_sectors
from manipapy_core.reachability.samples import Tally

TABLES = ("cell", "count", "best", "penalised", "seed", "open")


def plan(name="panda", **options):
    robot, chain, _ = arm(name)
    return MapSpec(robot, chain.base, chain.tip, **{"samples": 600_000, "resolution": 0.1, "tilts": 18, **options})


@pytest.fixture(scope="module")
def reach():
    return build_map(plan(self_collision=False))


def random_poses(count, seed=3):
    rng = np.random.default_rng(seed)
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3], _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    T[:, :3, 0] *= np.linalg.det(T[:, :3, :3])[:, None]
    T[:, :3, 3] = rng.uniform([-1, -1, -0.2], [1, 1, 1.2], (count, 3))
    return T


def same(first, second):
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in TABLES)


def test_exact_query_agrees_with_inverse_kinematics(reach):
    T = random_poses(600)
    truth = ik.solve_batch(reach.chain, T).solved
    told = reach.reachable(T, exact=True)
    assert 0.2 < truth.mean() < 0.6
    assert told[truth].mean() > 0.98 and told[~truth].mean() < 0.02


def test_poses_of_configurations_are_reachable(reach):
    q = np.random.default_rng(9).uniform(reach.chain.limits.lower, reach.chain.limits.upper, (2000, 7))
    T = kinematics.forward(reach.chain, q)
    assert reach.reachable(T).mean() > 0.95 and reach.reachable(T, exact=True).mean() > 0.99


def test_grasps_from_above_leave_no_holes(reach):
    """Few samples point exactly down; the place of a grasp from above must not depend on luck."""
    x, y = np.meshgrid(np.linspace(-0.6, 0.6, 41), np.linspace(-0.6, 0.6, 41))
    T = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (*x.shape, 1, 1))
    T[..., 0, 3], T[..., 1, 3], T[..., 2, 3] = x, y, 0.3
    truth = ik.solve_batch(reach.chain, T.reshape(-1, 4, 4)).solved.reshape(x.shape)
    assert (reach.reachable(T) == truth).mean() > 0.9
    assert (reach.reachable(T, exact=True) == truth).mean() > 0.97


def test_distant_poses_are_unreachable(reach):
    T = random_poses(50)
    T[:, :3, 3] += 5.0
    assert not reach.reachable(T).any() and not reach.reachable(T, exact=True).any()
    assert (reach.quality(T) == 0.0).all() and np.isnan(reach.seeds(T)).all()


def test_seeds_lie_near_their_pose_and_inside_the_limits(reach):
    q = np.random.default_rng(10).uniform(0.8 * reach.chain.limits.lower, 0.8 * reach.chain.limits.upper, (500, 7))
    q[:, 3], q[:, 5] = -1.5, 1.5
    T = kinematics.forward(reach.chain, q)
    seeds = reach.seeds(T)
    known = ~np.isnan(seeds).any(axis=1)
    assert known.mean() > 0.95
    off = np.linalg.norm(kinematics.forward(reach.chain, seeds[known])[:, :3, 3] - T[known, :3, 3], axis=1)
    assert np.median(off) < 0.2  # cells of 10 cm and 10°, about a tip 10 cm off the last axis
    assert (seeds[known] >= reach.chain.limits.lower - 1e-6).all()
    assert (seeds[known] <= reach.chain.limits.upper + 1e-6).all()


def test_random_poses_of_a_cell_lie_in_it(reach):
    cells = np.random.default_rng(0).choice(reach.grid.cells, 500)
    _, tilt, ahead, aside = np.unravel_index(cells, reach.grid.shape)
    ring = (tilt == 0) | (tilt == reach.grid.shape[1] - 1)
    half = reach.grid.shape[2] // 2
    cells = cells[~ring | ((ahead >= half) & (aside == half))]  # straight up and down only these exist
    places = reach.grid.locate(reach.grid.random_poses(cells, np.random.default_rng(1)))
    assert (places[:, 0].astype(int) == cells).all()


def test_open_sectors_are_those_that_a_joint_reaches():
    rng = np.random.default_rng(2)
    for _ in range(300):
        lower = rng.uniform(-4, 0)
        upper, offset = lower + rng.uniform(0, 7), rng.uniform(-9, 9)
        bits = open_sectors(offset, lower, upper)
        middles = (np.arange(SECTORS) + 0.5) * TURN / SECTORS
        turns = offset + np.linspace(lower, upper, 4001)
        reached = [np.abs((turns - middle + np.pi) % TURN - np.pi).min() < 1e-2 for middle in middles]
        told = [bool(bits >> s & 1) for s in range(SECTORS)]
        assert sum(a != b for a, b in zip(reached, told)) <= 2  # middles that a limit just touches


def test_best_quality_is_that_of_the_best_configuration(reach):
    """Yoshikawa's measure by the library's own function, at the seeds."""
    some = np.random.default_rng(4).choice(len(reach.cell), 300)
    seeds = reach.seed[some].astype(np.float64)
    wanted = singularity.penalised_manipulability(reach.chain, seeds)
    assert np.allclose(reach.penalised[some], wanted, rtol=2e-2, atol=2e-4)
    assert (reach.best[some] >= singularity.manipulability(reach.chain, seeds) * 0.98 - 2e-4).all()


def test_directions_at_a_point_are_ordered_and_true(reach):
    z, share, best = reach.directions([0.45, 0.1, 0.4], count=60)
    assert (np.diff(share) <= 0).all() and share[0] > 0.9 and (best[share > 0] > 0).all()
    assert np.allclose(np.linalg.norm(z, axis=1), 1.0)


def test_self_collision_leaves_configurations_out():
    checked, free = (build_map(plan(samples=100_000, self_collision=flag)) for flag in (True, False))
    assert checked.count.sum() < free.count.sum()
    assert not Checker(arm("panda")[2]).check(checked.seed.astype(np.float64)).mean() > 0.001


def test_verified_edges_reduce_false_positives():
    T = random_poses(800, seed=8)
    options = {"samples": 300_000, "resolution": 0.2, "tilts": 9, "self_collision": False}
    rough, verified = (build_map(plan(verify=count, **options)) for count in (0, 6))
    truth = ik.solve_batch(rough.chain, T).solved
    wrong = [(found.reachable(T) != truth).mean() for found in (rough, verified)]
    assert wrong[1] < wrong[0]


def test_saved_map_is_loaded_and_refused_for_another_arm(reach, tmp_path):
    save_map(reach, tmp_path / "panda.npz")
    again = load_map(tmp_path / "panda.npz", reach.chain)
    assert same(reach, again) and again.attributes["samples"] == 600_000
    with pytest.raises(MapMismatch, match="another arm") as raised:
        load_map(tmp_path / "panda.npz", arm("ur5")[1])
    assert "robot" in raised.value.differences
    (tmp_path / "bad.npz").write_text("nothing")
    with pytest.raises(InvalidMap, match="build the map again"):
        load_map(tmp_path / "bad.npz", reach.chain)


def test_finished_map_is_not_built_again(tmp_path):
    settings = plan(samples=40_000, self_collision=False)
    first, steps = build_map(settings, tmp_path / "map.npz"), []
    again = build_map(settings, tmp_path / "map.npz", progress=lambda *x: steps.append(x))
    assert same(first, again) and not steps
    with pytest.raises(MapMismatch, match="samples: 40000 there, 50000 here"):
        build_map(plan(samples=50_000, self_collision=False), tmp_path / "map.npz")


def test_the_order_of_blocks_does_not_matter():
    settings = plan(samples=100_000, self_collision=False, block=20_000)
    whole = build_map(settings)
    tally = Tally.empty(whole.grid, 7)
    for block in (3, 1, 4, 0, 2):
        tally.add(build._block(settings, whole.grid, block))
    parts = tally.sparse()
    assert all(np.array_equal(parts[name], getattr(whole, name)) for name in TABLES)


def test_processes_give_the_same_map():
    whole, split = (build_map(plan(samples=120_000, self_collision=False, block=40_000), workers=w) for w in (1, 2))
    assert same(whole, split)


BUILD = """
import sys
from manipapy_core import Robot
from manipapy_core.reachability import MapSpec, build, build_map
build.CHECKPOINT = 0.0
plan = MapSpec(Robot.from_urdf("panda"), "panda_link0", "panda_hand_tcp", samples=2_000_000, resolution=0.2, tilts=9,
            self_collision=False, block=20_000)
build_map(plan, sys.argv[1])
"""


def test_killed_build_resumes(tmp_path, project):
    path = tmp_path / "map.npz"
    part = tmp_path / "map.npz.part"
    environment = {**os.environ, "PYTHONPATH": str(project)}
    child = subprocess.Popen([sys.executable, "-c", BUILD, str(path)], env=environment)
    deadline = time.monotonic() + 120.0
    while not part.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert part.exists() and not path.exists()
    robot = Robot.from_urdf("panda")
    options = {"samples": 2_000_000, "resolution": 0.2, "tilts": 9, "self_collision": False, "block": 20_000}
    steps = []
    settings = MapSpec(robot, "panda_link0", "panda_hand_tcp", **options)
    resumed = build_map(settings, path, progress=lambda *x: steps.append(x))
    assert steps[0][0] > 20_000, "some blocks were not done again"
    assert same(resumed, build_map(settings))
    assert path.exists() and not part.exists()


def test_unfinished_map_of_another_specification_is_refused(tmp_path):
    first = plan(samples=60_000, block=20_000, self_collision=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "CHECKPOINT", 0.0)

        def stop(done, _):
            if done >= 40_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_map(first, tmp_path / "map.npz", progress=stop)
    with pytest.raises(MapMismatch, match="samples"):
        build_map(plan(samples=80_000, block=20_000, self_collision=False), tmp_path / "map.npz")


@pytest.fixture(scope="module")
def dask_cluster():
    """A scheduler and two workers, each a process of its own."""
    distributed = pytest.importorskip("distributed", reason="Dask is needed: pip install 'manipapy[big]'")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.mark.parametrize("index", ["4d", "6d"])
def test_two_dask_workers_give_the_same_map(dask_cluster, index):
    settings = plan(samples=200_000, self_collision=False, block=25_000, index=index)
    spread = build_map(settings, scheduler=dask_cluster.scheduler_address)
    assert same(spread, build_map(settings))


def test_killed_dask_worker_loses_no_samples(dask_cluster):
    """Dask starts another one in its place."""
    settings = plan(samples=400_000, self_collision=False, block=25_000)
    killed = []
    with dask_cluster.get_client() as client:
        pids = list(client.run(os.getpid).values())

    def kill_one(*_):
        if not killed:
            os.kill(pids[0], signal.SIGKILL)
            killed.append(pids[0])

    spread = build_map(settings, scheduler=dask_cluster.scheduler_address, progress=kill_one)
    assert killed and same(spread, build_map(settings))


@pytest.mark.parametrize("joints", ["zz", "zyy", "zyyy"])
def test_voxels_of_arms_with_few_joints_are_where_the_tip_goes(joints):
    """Against the tips of random configurations: a planar arm, and two that cannot turn their tip freely."""
    text, axes = '<robot name="few"><link name="l0"/>', {"z": "0 0 1", "y": "0 1 0"}
    for index, axis in enumerate(joints):
        text += f"""<link name="l{index + 1}"/><joint name="j{index}" type="revolute"><parent link="l{index}"/>
        <child link="l{index + 1}"/><origin xyz="{0.35 if index else 0.0} 0 {0.0 if index else 0.2}"/>
        <axis xyz="{axes[axis]}"/><limit lower="-2.8" upper="2.8" velocity="1" effort="1"/></joint>"""
    text += f"""<link name="tip"/><joint name="end" type="fixed"><parent link="l{len(joints)}"/><child link="tip"/>
    <origin xyz="0.3 0 0"/></joint></robot>"""
    robot = Robot.from_urdf(text)
    chain = robot.chain("l0", "tip")
    reach = build_map(MapSpec(robot, "l0", "tip", samples=100_000, self_collision=False))
    found = voxels(reach, step=0.1)
    q = np.random.default_rng(8).uniform(chain.limits.lower, chain.limits.upper, (1_000_000, chain.n))
    tips = kernels_of(chain).forward.run(q)[:, :3, 3]
    wanted = set(map(tuple, np.unique(np.round(tips / 0.1).astype(int), axis=0).tolist()))
    told = set(map(tuple, np.round(found.points / 0.1).astype(int).tolist()))
    assert len(told & wanted) > 0.97 * len(wanted) and len(told - wanted) < 0.03 * len(wanted)
    assert (found.share > 0.0).all() and (found.best >= 0.0).all()
