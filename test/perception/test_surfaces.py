"""Tables, floors and walls for the planner: what was seen of them, solid into the unknown space behind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manipapy_core.perception import DetectedPlane, SurfaceKeeper, surfaces_of
from manipapy_core.perception.points.seen_area import CELL, SeenArea
from perception.depth_scenes import inside

UP = np.array([0.0, 0.0, 1.0])


def area_of(flat: np.ndarray) -> SeenArea:
    return SeenArea.of(flat, flat.min(axis=0), flat.max(axis=0))


def grid(x: tuple[float, float], y: tuple[float, float]) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(*x, 0.01), np.arange(*y, 0.01)), axis=-1).reshape(-1, 2)


def plane(flat: np.ndarray, offset: float, normal: np.ndarray = UP) -> DetectedPlane:
    return DetectedPlane(normal, offset, len(flat), False, flat.min(axis=0), flat.max(axis=0), 1.0, area_of(flat))


def test_area_covers_what_was_seen():
    """A round table: its corners are in the bounding rectangle, but not in the area; a vase hides part of it."""
    flat = grid((-0.5, 0.5), (-0.5, 0.5))
    far = np.linalg.norm(flat, axis=1)
    area = area_of(flat[(far < 0.5) & (far > 0.1)])
    assert area.covers(np.zeros((1, 2))).all()
    assert not area.covers(np.array([[0.45, 0.45], [-0.45, 0.45], [0.6, 0.0]])).any()
    assert area.covers(np.array([[0.53, 0.0]]), 0.05).all() and not area.covers(np.array([[0.48, 0.0]]), -0.05).any()
    assert area.largest_part == pytest.approx(math.pi * 0.25, rel=0.1)
    (polygon,) = area.polygons()
    assert np.linalg.norm(polygon, axis=1).max() < 0.5 + 2.0 * CELL


def test_corner_desk_is_covered_by_convex_parts():
    flat = np.concatenate([grid((0.0, 1.5), (0.0, 0.5)), grid((0.0, 0.5), (0.5, 1.5))])
    desk = plane(flat, 0.7)
    (surface,) = surfaces_of([desk], [0.5, 0.5, 2.0])
    assert len(surface.parts) > 1 and surface.label == "table"
    points = np.column_stack([flat, np.full(len(flat), 0.69)])
    assert inside(points, surface.parts).all()
    open_corner = grid((0.75, 1.5), (0.75, 1.5))
    assert not inside(np.column_stack([open_corner, np.full(len(open_corner), 0.69)]), surface.parts).any()


def test_table_reaches_down_to_the_floor_that_was_seen():
    table, floor = plane(grid((0.0, 0.8), (0.0, 0.6)), 0.7), plane(grid((-1.0, 2.0), (-1.0, 2.0)), 0.0)
    above, below = surfaces_of([table, floor], [0.4, 0.3, 2.0], max_thickness=1.5)
    assert (above.label, below.label) == ("table", "floor")
    assert above.parts[0].vertices[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    assert below.parts[0].vertices[:, 2].min() == pytest.approx(-1.5, abs=1e-9)
    (alone,) = surfaces_of([table], [0.4, 0.3, 2.0], max_thickness=0.4)
    assert alone.parts[0].vertices[:, 2].min() == pytest.approx(0.3, abs=1e-9)


def test_wall_is_solid_behind_what_the_camera_sees():
    wall = plane(grid((-0.5, 0.5), (0.0, 1.0)), 1.0, np.array([1.0, 0.0, 0.0]))
    for viewpoint, behind in ((0.0, 1.2), (2.0, 0.8)):
        (surface,) = surfaces_of([wall], [viewpoint, 0.0, 0.5], max_thickness=0.4)
        assert surface.label == "wall"
        axes = wall.axes
        middle = axes @ np.array([0.0, 0.5])
        places = middle + np.array([[behind, 0.0, 0.0], [2.0 - behind, 0.0, 0.0]])
        assert inside(places, surface.parts).tolist() == [True, False]


def test_jittering_table_stays_the_same_object():
    keeper, flat = SurfaceKeeper(), grid((0.0, 0.8), (0.0, 0.6))
    first = keeper.update([plane(flat, 0.7)], [0.4, 0.3, 2.0])
    assert keeper.update([plane(flat, 0.702)], [0.4, 0.3, 2.0]) is first
    assert keeper.update([], [0.4, 0.3, 2.0]) is first
    moved = keeper.update([plane(flat, 0.72)], [0.4, 0.3, 2.0])
    assert moved is not first and moved[0].plane.offset == 0.72
    larger = keeper.update([plane(grid((0.0, 1.2), (0.0, 0.6)), 0.72)], [0.4, 0.3, 2.0])
    assert larger is not moved
    keeper.reset()
    assert keeper.update([], [0.0, 0.0, 1.0]) == ()
