"""Base placement: the public planar exercise by brute force, and a Panda on floors of all kinds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from geometry.arms import arm, at
from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError, MissingPackage, ShapeError
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.reachability import Combine, Floor, MapSpec, Polygon, build_map, place_base, score_floor
from reachability import planar


@pytest.fixture(scope="module")
def reach():
    robot, chain, _ = arm("panda")
    options = {"samples": 800_000, "resolution": 0.1, "tilts": 18, "self_collision": False}
    return build_map(MapSpec(robot, chain.base, chain.tip, **options))


def down(x, y, z, roll=0.0):
    """A grasp from above."""
    T = np.eye(4)
    T[:3, :3] = np.array([[np.cos(roll), np.sin(roll), 0], [np.sin(roll), -np.cos(roll), 0], [0, 0, -1]])
    T[:3, 3] = x, y, z
    return T


def turned(axis, angle):
    T = np.eye(4)
    T[:3, :3] = lie.exp_so3(np.asarray(axis) * angle)
    return T


def check(reach, place, grasps):
    """The configurations bring the tip of the placed arm to the grasps, inside the limits."""
    for q, grasp in zip(place.q, grasps):
        assert np.allclose(place.T_world_base @ kinematics.forward(reach.chain, q), grasp, atol=1e-5)
        assert (q >= reach.chain.limits.lower - 1e-9).all() and (q <= reach.chain.limits.upper + 1e-9).all()


def test_planar_placement_agrees_with_brute_force():
    robot = planar.planar_robot()
    plan = MapSpec(robot, "l0", "hand", samples=300_000, resolution=0.1, tilts=6, self_collision=False)
    reach = build_map(plan, accept=planar.above_the_line, quality=planar.score)
    angle = 0.4
    grasp = np.eye(4)
    grasp[:3, :3] = lie.exp_so3([0, 0, angle])
    grasp[:3, 3] = 1.0, 2.0, 0.0
    # The base stands anywhere on the line y = 0 of the plane, facing along it.
    line = Floor(keep_in=(Polygon.rectangle((-5.0, -0.01), (5.0, 0.01)),))
    found = place_base(reach, grasp, line, headings=1, quality=planar.score, count=3, step=0.05)
    assert found
    for place in found:
        x, y, theta = planar.hand(place.q[0])
        assert (x + place.x, y + place.y) == pytest.approx((1.0, 2.0), abs=1e-5)
        assert np.cos(theta - angle) == pytest.approx(1.0) and place.score == pytest.approx(planar.score(place.q)[0])
    # Brute force: the wrist is fixed in height, so one free angle gives every configuration.
    q0 = np.linspace(0.0, np.pi / 2, 20_001)
    sine = 2.0 - np.sin(angle) - np.sin(q0)
    q0, sine = q0[np.abs(sine) <= 1.0], sine[np.abs(sine) <= 1.0]
    candidates = []
    for second in (np.arcsin(sine), np.pi - np.arcsin(sine)):
        rows = np.column_stack([q0, second - q0, angle - second])
        candidates.append(rows[(np.abs(rows[:, 1:]) <= np.pi).all(axis=1)])
    best = planar.score(np.concatenate(candidates)).max()
    assert found[0].score <= best + 1e-6
    assert found[0].score > best - 0.05


def test_placements_reach_every_grasp_and_are_ordered(reach):
    grasps = [down(0.5, 0.0, 0.3), down(0.6, 0.3, 0.5, roll=0.5)]
    found = place_base(reach, grasps, count=4)
    assert len(found) == 4 and all(np.diff([place.score for place in found]) <= 0)
    for place in found:
        check(reach, place, grasps)
        assert place.T_world_base[:3, 3] == pytest.approx([place.x, place.y, 0.0])
    assert min(np.hypot(a.x - b.x, a.y - b.y) for a in found for b in found if a is not b) >= 0.1


def test_placements_of_equal_score_face_the_grasp(reach):
    found = place_base(reach, down(0.5, 0.0, 0.3), count=3, headings=8)
    for place in found:
        way = np.arctan2(0.0 - place.y, 0.5 - place.x)
        assert np.cos(place.heading - way) > 0.9


def test_footprint_stays_in_and_out_of_its_polygons(reach):
    floor = Floor(
        keep_in=(Polygon.rectangle((-0.6, -0.6), (1.2, 0.2)),),
        keep_out=(Polygon.rectangle((-0.1, -0.3), (0.9, 0.1)),),
        footprint=Polygon.rectangle((-0.15, -0.1), (0.15, 0.1)),
    )
    found = place_base(reach, down(0.4, 0.0, 0.3), floor, count=5)
    assert found
    for place in found:
        c, s = np.cos(place.heading), np.sin(place.heading)
        corners = floor.footprint.corners @ np.array([[c, s], [-s, c]]) + [place.x, place.y]
        dense = np.concatenate([np.linspace(a, b, 50) for a, b in zip(corners, np.roll(corners, -1, axis=0))])
        assert (dense >= [-0.6, -0.6]).all() and (dense <= [1.2, 0.2]).all()
        blocked = (dense > [-0.1, -0.3]).all(axis=1) & (dense < [0.9, 0.1]).all(axis=1)
        assert not blocked.any()


def test_tilted_floor_and_raised_base(reach):
    slope = turned([0, 1.0, 0], 0.3) @ at(0, 0, -0.2)
    floor = Floor(T_world_floor=slope, T_floor_base=at(0, 0, 0.25))
    grasp = down(0.3, 0.2, 0.4)
    found = place_base(reach, grasp, floor, count=2)
    assert found
    for place in found:
        check(reach, place, [grasp])
        on_floor = lie.inverse(slope) @ place.T_world_base
        assert on_floor[2, 3] == pytest.approx(0.25) and on_floor[2, 2] == pytest.approx(1.0)


def test_collisions_with_the_world_are_respected(reach):
    _, _, body = arm("panda")
    crate = Box([0.3, 0.3, 0.5])
    grasp = down(0.0, 0.0, 0.65)

    def collision(T_world_base, q):
        world = World()
        world.add("crate", crate, lie.inverse(T_world_base) @ at(0.0, 0.0, 0.25))
        return Checker(body, world).check(q)

    found = place_base(reach, grasp, Floor(keep_out=(Polygon.disc(0.3),)), count=2, collision=collision, headings=8)
    assert found
    for place in found:
        check(reach, place, [grasp])
        assert not collision(place.T_world_base, place.q).any()


def test_combined_scores_are_ordered(reach):
    grasps = [down(0.5, 0.0, 0.3), down(0.5, 0.2, 0.3)]
    maps = {kind: score_floor(reach, grasps, combine=kind, headings=4).score for kind in Combine}
    low, mean, product = maps[Combine.MINIMUM], maps[Combine.MEAN], maps[Combine.PRODUCT]
    assert ((low > 0) == (mean > 0)).all() and (low <= product + 1e-7).all() and (product <= mean + 1e-7).all()


def test_distant_grasps_have_no_placement(reach):
    assert place_base(reach, [down(0, 0, 0.3), down(5, 0, 0.3)]) == []
    with pytest.raises(ShapeError, match="at least one"):
        place_base(reach, np.zeros((0, 4, 4)))


def test_score_is_the_quality_of_the_map(reach):
    grasp = down(0.5, 0.0, 0.3)
    scored = score_floor(reach, grasp, headings=4)
    i, j, k = np.unravel_index(scored.score.argmax(), scored.score.shape)
    T = scored.floor.bases(scored.x[i], scored.y[j], scored.heading[k])
    assert reach.quality(lie.inverse(T) @ grasp, penalised=True) == pytest.approx(scored.score[i, j, k])


def test_overlap_of_polygons_by_dense_sampling():
    rng = np.random.default_rng(0)
    other = Polygon(np.array([[0, 0], [1, 0], [1, 1], [0.5, 0.4], [0, 1]]))
    grid = np.stack(np.meshgrid(np.linspace(-1, 2, 301), np.linspace(-1, 2, 301)), axis=-1)
    inside = other.contains(grid)
    for _ in range(60):
        corners = rng.uniform(-0.5, 1.5, 2) + 0.25 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        own = Polygon(corners).contains(grid)
        assert bool(other.overlaps(corners[None])[0]) >= (inside & own).any()
        assert bool(other.covers(corners[None])[0]) <= (inside[own]).all()


def test_contained_points_by_the_crossing_number():
    corners = np.array([[0, 0], [1, 0], [1, 1], [0.5, 0.4], [0, 1]])
    x, y = np.random.default_rng(1).uniform(-0.5, 1.5, (2, 20_000))
    crossings = np.zeros(len(x), dtype=int)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0)):
        crosses = (y0 > y) != (y1 > y)
        crossings += crosses & (x < (x1 - x0) * (y - y0) / (y1 - y0 if y1 != y0 else 1.0) + x0)
    assert np.array_equal(Polygon(corners).contains(np.stack([x, y], axis=-1)), crossings % 2 == 1)


def test_footprint_over_a_dent_is_not_inside():
    dented = Polygon(np.array([[0, 0], [2, 0], [2, 2], [1, 0.5], [0, 2]]))
    wide = np.array([[0.3, 0.8], [1.7, 0.8], [1.7, 0.9], [0.3, 0.9]])
    assert dented.contains(wide).all() and not dented.covers(wide)
    floor = Floor(keep_in=(dented,), footprint=Polygon(wide - [1.0, 0.85]))
    at_dent, below = floor.allows(np.array([1.0, 1.0]), np.array([0.85, 0.3]), np.zeros(2))
    assert not at_dent and below


def test_boundary_belongs_to_the_polygon():
    square = Polygon.rectangle((0.0, 0.0), (1.0, 1.0))
    assert square.contains(np.array([[0.0, 0.5], [1.0, 0.5], [0.5, 0.0], [0.5, 1.0], [1.0, 1.0]])).all()
    assert square.overlaps(square.corners + np.array([1.0, 0.0])) and not square.overlaps(
        square.corners + np.array([1.001, 0.0])
    )


def test_crossing_polygon_is_refused():
    with pytest.raises(InputError, match="corners in order"):
        Polygon(np.array([[0, 0], [1, 1], [1, 0], [0, 1]])).contains(np.zeros((1, 2)))


def test_missing_shapely_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(MissingPackage, match=r"shapely.*manipapy\[capability\]"):
        Polygon.disc(1.0).contains(np.zeros((1, 2)))
