"""Solids in pictures of known things: the renderer draws triangles, the search knows only formulas."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.model import BoxGeometry, CylinderGeometry, SphereGeometry
from manipapy_core.perception.shapes.solid_search import BALL, BOX, CYLINDER, LYING, misfit
from manipapy_core.perception.shapes.solids import fit_solid
from manipapy_core.perception.tracking.line_of_sight import LineOfSight
from manipapy_core.sim import Pinhole, SceneObject, look_at
from manipapy_core.sim.render.raster import Rasteriser
from manipapy_core.sim.render.surfaces import object_surface
from manipapy_core.sim.scene import Texture
from perception.scenes import table, true_size

CAMERA = Pinhole.from_field_of_view(320, 240, 1.0)
UP, FEET = np.array([0.0, 0.0, 1.0]), np.zeros(3)
ON_ITS_SIDE = lie.exp_so3([np.pi / 2, 0.0, 0.0])
THINGS = {
    "box": (BoxGeometry([0.06, 0.11, 0.08]), np.eye(3), 0.04, False),
    "board": (BoxGeometry([0.04, 0.14, 0.12]), np.eye(3), 0.06, False),
    "can": (CylinderGeometry(0.04, 0.11), np.eye(3), 0.055, False),
    "ball": (SphereGeometry(0.045), np.eye(3), 0.045, True),
    "lying bottle": (CylinderGeometry(0.035, 0.15), ON_ITS_SIDE, 0.035, False),
}


def seen(shape, R: np.ndarray, middle: np.ndarray, eye) -> tuple[LineOfSight, np.ndarray]:
    """The picture of a thing on a table, and the points that lie well above the table."""
    thing = SceneObject("thing", shape, lie.pose(R, middle), rgba=(0.5, 0.5, 0.5, 1.0), texture=Texture.PLAIN)
    items, T = [table(), thing], look_at(np.asarray(eye, dtype=float), middle)
    stage = Rasteriser([object_surface(item) for item in items])
    light = {"towards_lamp": (0.0, 0.0, 1.0), "ambient": 0.5, "diffuse": 0.5}
    ((_, depth),) = stage.draw([item.T_world_object for item in items], CAMERA, [T], **light)
    K = np.array([[CAMERA.fx, 0.0, CAMERA.cx], [0.0, CAMERA.fy, CAMERA.cy], [0.0, 0.0, 1.0]])
    there = np.isfinite(depth)
    points = (CAMERA.rays()[there] * depth[there, None]) @ T[:3, :3].T + T[:3, 3]
    return LineOfSight(depth.astype(np.float32), K, T), points[points[:, 2] > 0.01]


@pytest.mark.parametrize("name", THINGS)
@pytest.mark.parametrize("turn", [0.0, 0.4, 1.1, 2.3])
@pytest.mark.parametrize("eye", [(0.9, -0.4, 0.6), (0.3, 0.5, 0.8)])
def test_solids_are_told_apart_and_measured(name, turn, eye):
    shape, lying, height, is_round = THINGS[name]
    middle = np.array([0.03, -0.02, height])
    sight, points = seen(shape, lie.exp_so3([0.0, 0.0, turn]) @ lying, middle, eye)
    found = fit_solid(points, 0.002, float(points[:, 2].max()), sight, FEET, UP, 0.0)
    assert found is not None
    assert found.round == is_round
    assert np.sort(found.size) == pytest.approx(np.sort(true_size(shape)), abs=0.015)
    assert found.T_base_box[:3, 3] == pytest.approx(middle, abs=0.01)


def test_smeared_outlines_are_moved_back():
    """A matcher gives columns beside a thing the depth of the thing; told how many, the fit does not believe them."""
    shape, middle = BoxGeometry([0.08, 0.08, 0.10]), np.array([0.0, 0.0, 0.05])
    sight, points = seen(shape, np.eye(3), middle, (1.2, 0.0, 0.8))
    columns = 3
    depth = sight.depth.copy()
    for _ in range(columns):
        depth[:, 1:-1] = np.minimum(np.minimum(depth[:, 2:], depth[:, :-2]), depth[:, 1:-1])
    smeared = LineOfSight(depth, sight.K, sight.T_base_optical)
    sizes = []
    for blur in (0.0, 2.0 * columns / CAMERA.fx):
        found = fit_solid(points, 0.002, 0.10, smeared, FEET, UP, blur)
        assert found is not None
        sizes.append(found.size)
    assert sizes[0].max() > 0.105
    assert sizes[1] == pytest.approx([0.08, 0.08, 0.10], abs=0.01)


def test_what_was_not_measured_does_not_make_things_larger():
    """Around a thing on a plain table nothing is measured: that says nothing about a larger thing."""
    shape, middle = BoxGeometry([0.08, 0.06, 0.07]), np.array([0.0, 0.0, 0.035])
    sight, points = seen(shape, np.eye(3), middle, (0.9, -0.4, 0.6))
    z = sight.T_base_optical[2, 3] + sight.depth * (CAMERA.rays() @ sight.T_base_optical[2, :3])
    depth = np.where(z > 0.004, sight.depth, np.float32(np.nan))
    found = fit_solid(points, 0.002, 0.07, LineOfSight(depth, sight.K, sight.T_base_optical), FEET, UP, 0.0)
    assert found is not None
    assert np.sort(found.size) == pytest.approx([0.06, 0.07, 0.08], abs=0.012)


def test_nothing_is_said_where_the_upper_side_is_not_seen():
    sight, points = seen(BoxGeometry([0.06, 0.06, 0.2]), np.eye(3), np.array([0.0, 0.0, 0.1]), (0.7, 0.0, 0.1))
    assert fit_solid(points, 0.002, 0.2, sight, FEET, UP, 0.0) is None


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (BOX, [0.0, -0.05, 0.05, -0.05, 0.05, 0.1]),
        (CYLINDER, [0.0, -0.05, 0.05, 0.1]),
        (BALL, [0.0, -0.05, 0.05]),
        (LYING, [0.0, -0.05, 0.05, 0.0, 0.05]),
    ],
)
def test_depth_from_above_is_known_by_hand(kind, numbers):
    """All four are 10 cm high and under the camera: a ray straight down ends at 0.9 m, one beside them at 1 m."""
    eye, p = np.array([0.0, 0.0, 1.0]), np.array([*numbers, 0.0, 0.0, 0.0])[:6]
    down, beside = [0.0, 0.0, -1.0, 0.9, 1.0], [0.2, 0.0, -1.0, 1.0, 1.0]
    assert misfit(kind, p, eye, np.array([down, beside]), 100.0, np.inf) == pytest.approx(0.0, abs=1e-9)
    off = [0.0, 0.0, -1.0, 0.91, 1.0]
    assert misfit(kind, p, eye, np.array([off]), 100.0, np.inf) == pytest.approx(1.0)
    table_seen = [0.0, 0.0, -1.0, 1.0, 1.0]
    assert misfit(kind, p, eye, np.array([table_seen]), 100.0, np.inf) == pytest.approx(9.0)
