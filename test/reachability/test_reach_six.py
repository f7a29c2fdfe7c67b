"""Maps of six dimensions, for arms that slide at an end and feet that carry hands: against inverse kinematics."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import Robot, ik, kinematics
from manipapy_core.errors import InputError
from manipapy_core.reachability import MapMismatch, MapSpec, build, build_map, load_map, place_base, save_map
from manipapy_core.reachability.grid6 import PoseGrid
from manipapy_core.reachability.samples import Tally
from manipapy_core.reachability.sparse_map import CellIndex
from reference.random_robots import humanoid, random_chain

CASES = {
    "a rail": lambda: random_chain("PRRRRR", 2),
    "a sliding tip": lambda: random_chain("RRRRRP", 5),
    "both ends slide": lambda: random_chain("PRRRRP", 4),
    "foot to hand": humanoid,
}
TABLES = ("cell", "count", "best", "penalised", "seed", "open")


def plan(name, **options):
    case = CASES[name]()
    return MapSpec(Robot.from_urdf(case.text), case.base, case.tip, **{"self_collision": False, **options})


@functools.cache
def built(name, samples=1_500_000, **options):
    return build_map(plan(name, samples=samples, **options))


def random_poses(reach, count, seed=3):
    """Places of random configurations, turned any way: many are out of reach, and few of them by far."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(reach.chain.limits.lower, -3.0), np.minimum(reach.chain.limits.upper, 3.0)
    T = kinematics.forward(reach.chain, rng.uniform(low, high, (count, reach.chain.n)))
    turned, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    turned[..., 0] *= np.linalg.det(turned)[:, None]
    some = rng.random(count) < 0.7
    T[some, :3, :3] = turned[some]
    return T


def same(first, second):
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in TABLES)


@pytest.mark.parametrize(("name", "hits"), [("a rail", 0.98), ("a sliding tip", 0.98), ("foot to hand", 0.96)])
def test_exact_query_agrees_with_inverse_kinematics(name, hits):
    reach = built(name)
    assert reach.grid.dimensions == 6 and reach.grid.seen_from_tip == (name == "a sliding tip")
    T = random_poses(reach, 600)
    truth = ik.solve_batch(reach.chain, T).solved
    assert 0.3 < truth.mean() < 0.9
    told, guessed = reach.reachable(T, exact=True), reach.reachable(T)
    assert told[truth].mean() > hits and told[~truth].mean() < 0.005
    assert guessed[truth].mean() > 0.5 and guessed[~truth].mean() < 0.3


def test_where_no_end_turns_the_roll_is_a_dimension():
    reach = built("both ends slide", 3_000_000, resolution=0.2, tilts=8)
    assert reach.grid.rolls == 16 and reach.open.shape[1] == 0
    T = random_poses(reach, 600)
    truth = ik.solve_batch(reach.chain, T).solved
    told = reach.reachable(T, exact=True)
    assert 0.2 < truth.mean() < 0.9 and told[truth].mean() > 0.98 and told[~truth].mean() < 0.005


def test_limits_of_the_turning_end_are_known():
    """A wrist that turns by 60° either way: poses beyond are out of reach, though the cells are met."""
    case = random_chain("PRRRRR", 2)
    text = case.text
    at = text.index('name="joint6"')
    start = text.index('lower="', at)
    end = text.index("/>", start)
    text = text[:start] + 'lower="-1.05" upper="1.05" velocity="3" effort="10"' + text[end:]
    robot = Robot.from_urdf(text)
    reach = build_map(MapSpec(robot, case.base, case.tip, samples=1_000_000, self_collision=False))
    assert reach.chain.limits.upper[5] == pytest.approx(1.05)
    T = random_poses(reach, 500, seed=4)
    truth = ik.solve_batch(reach.chain, T).solved
    free = ik.solve_batch(built("a rail").chain, T).solved
    assert truth.sum() < 0.9 * free.sum()
    told = reach.reachable(T, exact=True)
    assert told[truth].mean() > 0.98 and told[~truth].mean() < 0.005


def test_both_indexes_agree_on_a_panda():
    robot, chain, _ = arm("panda")
    options = {"samples": 1_000_000, "self_collision": False}
    four = build_map(MapSpec(robot, chain.base, chain.tip, resolution=0.1, tilts=18, index="auto", **options))
    six = build_map(MapSpec(robot, chain.base, chain.tip, index="6d", **options))
    assert (four.grid.dimensions, six.grid.dimensions) == (4, 6)
    T = random_poses(four, 800)
    agree = four.reachable(T, exact=True) == six.reachable(T, exact=True)
    assert agree.mean() > 0.97
    q = np.random.default_rng(9).uniform(chain.limits.lower, chain.limits.upper, (500, 7))
    assert six.reachable(kinematics.forward(chain, q), exact=True).mean() > 0.98


def test_seeds_lie_near_their_pose_and_inside_the_limits():
    reach = built("a rail")
    chain = reach.chain
    q = np.random.default_rng(5).uniform(chain.limits.lower, chain.limits.upper, (400, chain.n))
    T = kinematics.forward(chain, q)
    seeds = reach.seeds(T)
    known = ~np.isnan(seeds).any(axis=1)
    assert known.mean() > 0.9
    inside = (seeds[known] >= chain.limits.lower - 1e-6) & (seeds[known] <= chain.limits.upper + 1e-6)
    assert inside.all()
    found = kinematics.forward(chain, seeds[known])
    assert np.median(np.linalg.norm(found[:, :3, 3] - T[known, :3, 3], axis=1)) < 0.15
    cosine = (np.einsum("nij,nij->n", found[:, :3, :3], T[known, :3, :3]) - 1.0) / 2.0
    assert np.median(np.degrees(np.arccos(np.clip(cosine, -1, 1)))) < 20.0


@pytest.mark.parametrize("seen_from_tip", [False, True])
@pytest.mark.parametrize("rolls", [1, 24])
def test_random_poses_of_a_cell_lie_in_it_and_cells_are_alike(rolls, seen_from_tip):
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    frame[:, 0] *= np.linalg.det(frame)
    rows = np.column_stack([frame, [0.1, -0.2, 0.3]]).ravel()
    grid = PoseGrid(0.1, (5, 6, 7), 12, rolls, seen_from_tip, np.array([-0.3, -0.2, -0.4]), rows)
    cells = rng.integers(0, grid.cells, 4000)
    one, other = (grid.random_poses(cells, rng) for _ in range(2))
    assert (grid.locate(one)[:, 0] == cells).all() and (grid.locate(other)[:, 0] == cells).all()
    z, z_other = grid.seen(one)[:, :3, 2], grid.seen(other)[:, :3, 2]
    assert np.degrees(np.arccos(np.clip((z * z_other).sum(axis=1), -1, 1))).max() < 32.0
    for side in range(grid.sides):
        beside = grid.beside(cells, side)
        inside = beside >= 0
        assert 0.7 < inside.mean() <= 1.0 and (beside != cells).all() and (beside < grid.cells).all()
        middles = grid.seen(grid.random_poses(beside[inside], rng))
        gap = np.linalg.norm(middles[:, :3, 3] - grid.seen(one[inside])[:, :3, 3], axis=1)
        assert gap.max() < 0.1 * np.sqrt(6.0)


def test_cell_index_agrees_with_a_dictionary():
    rng = np.random.default_rng(1)
    index, truth = CellIndex(), {}
    for _ in range(20):
        cells = rng.integers(-1, 5000, 3000) * 1_000_003
        rows = index.add(cells)
        for cell, row in zip(cells.tolist(), rows.tolist()):
            assert row == (truth.setdefault(cell, len(truth)) if cell >= 0 else -1)
    asked = rng.integers(0, 9000, 3000) * 1_000_003
    assert index.rows(asked).tolist() == [truth.get(cell, -1) for cell in asked.tolist()]
    assert len(index) == len(truth)


def test_the_order_of_blocks_does_not_matter():
    settings = plan("a rail", samples=100_000, block=20_000)
    whole = build_map(settings)
    tally = Tally.empty(whole.grid, whole.chain.n)
    for block in (3, 1, 4, 0, 2):
        tally.add(build._block(settings, whole.grid, block))
    parts = tally.sparse()
    assert all(np.array_equal(parts[name], getattr(whole, name)) for name in TABLES)
    assert whole.count.sum() == 100_000 and (np.diff(whole.cell) > 0).all()


def test_processes_give_the_same_map():
    whole, split = (build_map(plan("a rail", samples=120_000, block=40_000), workers=w) for w in (1, 2))
    assert same(whole, split)


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_stopped_build_resumes_and_its_file_is_loaded(tmp_path, ending):
    if ending == "h5":
        pytest.importorskip("h5py", reason="HDF5 files need h5py: pip install 'manipapy[big]'")
    path, settings = tmp_path / f"map.{ending}", plan("a rail", samples=120_000, block=20_000, verify=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "CHECKPOINT", 0.0)

        def stop(done, _):
            if done >= 60_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            build_map(settings, path, progress=stop)
    steps = []
    resumed = build_map(settings, path, progress=lambda *x: steps.append(x))
    assert steps[0][0] > 40_000 and same(resumed, build_map(settings))
    again = load_map(path, settings.chain)
    assert same(resumed, again) and np.array_equal(resumed.share, again.share)
    assert again.attributes["index"] == "6d"
    with pytest.raises(MapMismatch, match="another arm"):
        load_map(path, built("foot to hand", 20_000).chain)
    save_map(again, path)
    assert same(load_map(path, settings.chain), again)


def test_verified_cells_reduce_false_positives():
    options = {"samples": 600_000, "resolution": 0.2, "tilts": 8}
    rough, verified = (build_map(plan("a rail", verify=count, **options)) for count in (0, 4))
    T = random_poses(rough, 800, seed=8)
    truth = ik.solve_batch(rough.chain, T).solved
    guessed = [found.reachable(T)[~truth].mean() for found in (rough, verified)]
    assert guessed[1] < 0.6 * guessed[0]
    # A rough map leaves every answer to inverse kinematics; one that is verified trusts its whole cells.
    told = [found.reachable(T, exact=True)[~truth].mean() for found in (rough, verified)]
    assert told[0] == 0.0 and told[1] < 0.02
    assert verified.reachable(T, exact=True)[truth].mean() > 0.95


def test_base_on_a_rail_is_placed():
    reach = built("a rail")
    middle = 0.5 * (reach.chain.limits.lower + reach.chain.limits.upper)
    grasp = kinematics.forward(reach.chain, middle)
    found = place_base(reach, grasp, count=2, headings=8)
    assert found
    for place in found:
        tip = place.T_world_base @ kinematics.forward(reach.chain, place.q[0])
        assert np.allclose(tip, grasp, atol=1e-5)


def test_wrong_index_is_refused_with_a_cure():
    with pytest.raises(InputError, match="choose index 6d or auto"):
        build_map(plan("a rail", samples=1000, index="4d"))
    with pytest.raises(InputError, match="choose auto, 4d or 6d"):
        plan("a rail", index="5d")
