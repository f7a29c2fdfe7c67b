"""Inverse reachability maps: round trips, and places on a floor by inverse kinematics alone."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import ik, kinematics, lie
from manipapy_core.errors import ShapeError
from manipapy_core.reachability import (
    Floor,
    InvalidMap,
    InverseMap,
    MapMismatch,
    MapSpec,
    Polygon,
    build_map,
    save_map,
)

GRASP = lie.pose(lie.exp_so3([0.0, 2.6, 0.3]), [1.2, 0.4, 0.45])
ABOVE = lie.pose(np.diag([1.0, -1.0, -1.0]), [0.3, 0.2, 0.35])


@pytest.fixture(scope="module", params=["4d", "6d"])
def maps(request):
    robot, chain, _ = arm("panda")
    spec = MapSpec(
        robot, chain.base, chain.tip, samples=1_500_000, resolution=0.1, tilts=12, index=request.param,
        self_collision=False,
    )  # fmt: skip
    reach = build_map(spec)
    return reach, InverseMap.build(reach)


def test_entries_are_the_inverse_of_the_kinematics(maps):
    _, inverse = maps
    some = np.random.default_rng(0).choice(len(inverse), 200)
    T_world_base = inverse.at(GRASP)[some]
    for T, q in zip(T_world_base, inverse.q[some].astype(np.float64)):
        assert T @ kinematics.forward(inverse.chain, q) == pytest.approx(GRASP, abs=1e-6)


@pytest.mark.parametrize("grasp", [GRASP, ABOVE], ids=["oblique", "from above"])
def test_places_on_a_floor_are_those_of_inverse_kinematics(maps, grasp):
    """Places on a lattice are tried by inverse kinematics; the map must tell most of them apart."""
    _, inverse = maps
    chain = inverse.chain
    tilted = lie.pose(lie.exp_so3([0.05, -0.08, 0.4]), [0.1, 0.0, 0.02])
    floor = Floor(T_world_floor=np.eye(4) if grasp is ABOVE else tilted)
    scored = inverse.on_floor(grasp, floor, headings=8)
    assert scored.score.shape == (len(scored.x), len(scored.y), 8)
    rng, told, true = np.random.default_rng(1), [], []
    middle = (lie.inverse(floor.T_world_floor) @ grasp)[:2, 3]
    for x, y in rng.uniform(middle - 1.0, middle + 1.0, (150, 2)):
        x, y, heading = 0.1 * np.round(x / 0.1), 0.1 * np.round(y / 0.1), rng.integers(8) * np.pi / 4
        T_world_base = floor.bases(np.array(x), np.array(y), np.array(heading))
        told.append(scored.score_at(T_world_base) > 0.0)
        true.append(ik.solve(chain, lie.inverse(T_world_base) @ grasp).solved)
    told, true = np.array(told), np.array(true)
    assert 20 < true.sum() < 130
    assert told[true].mean() > 0.85 and told[~true].mean() < 0.35


def test_places_reach_every_grasp(maps):
    _, inverse = maps
    other = GRASP @ lie.pose(lie.exp_so3([0.0, 0.0, 0.5]), [0.0, 0.15, 0.0])
    floor = Floor(keep_out=(Polygon.rectangle((0.0, 0.0), (1.0, 0.6)),))
    places = inverse.place([GRASP, other], floor, count=4)
    assert len(places) == 4
    assert [place.score for place in places] == sorted((place.score for place in places), reverse=True)
    for place in places:
        assert not (0.0 < place.x < 1.0 and 0.0 < place.y < 0.6) and place.T_world_base[2, 3] == 0.0
        for grasp, q in zip((GRASP, other), place.q):
            assert place.T_world_base @ kinematics.forward(inverse.chain, q) == pytest.approx(grasp, abs=1e-4)
    told = inverse.on_floor([GRASP, other], floor)
    assert told.score_at(places[0].T_world_base) == pytest.approx(places[0].score)


def test_maps_are_saved_and_refused_for_another_arm(maps, tmp_path):
    reach, inverse = maps
    inverse.save(tmp_path / "inverse.npz")
    again = InverseMap.load(tmp_path / "inverse.npz", inverse.chain)
    assert np.array_equal(again.q, inverse.q) and np.array_equal(again.quality, inverse.quality)
    assert np.array_equal(again.on_floor(GRASP).score, inverse.on_floor(GRASP).score)
    with pytest.raises(MapMismatch, match="another arm"):
        InverseMap.load(tmp_path / "inverse.npz", arm("ur5")[1])
    save_map(reach, tmp_path / "forward.npz")
    with pytest.raises(InvalidMap, match="not an inverse map"):
        InverseMap.load(tmp_path / "forward.npz", inverse.chain)


def test_grasps_out_of_reach_have_no_place(maps):
    _, inverse = maps
    high = GRASP.copy()
    high[2, 3] = 5.0
    scored = inverse.on_floor(high)
    assert not scored.score.any() and inverse.place(high) == [] and list(scored.ranked()) == []
    with pytest.raises(ShapeError, match="grasps"):
        inverse.on_floor(np.zeros(3))
