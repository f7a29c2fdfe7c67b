"""Fitted solids against rendered objects: the renderer draws triangles, the fit intersects analytic shapes."""

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
OBJECTS = {
    "box": (BoxGeometry([0.06, 0.11, 0.08]), np.eye(3), 0.04, False),
    "board": (BoxGeometry([0.04, 0.14, 0.12]), np.eye(3), 0.06, False),
    "can": (CylinderGeometry(0.04, 0.11), np.eye(3), 0.055, False),
    "ball": (SphereGeometry(0.045), np.eye(3), 0.045, True),
    "lying bottle": (CylinderGeometry(0.035, 0.15), ON_ITS_SIDE, 0.035, False),
}


def render(shape, R: np.ndarray, middle: np.ndarray, viewpoint) -> tuple[LineOfSight, np.ndarray]:
    """Depth image of an object on a table, and its points more than 1 cm above the table."""
    item = SceneObject("object", shape, lie.pose(R, middle), rgba=(0.5, 0.5, 0.5, 1.0), texture=Texture.PLAIN)
    items, T = [table(), item], look_at(np.asarray(viewpoint, dtype=float), middle)
    rasteriser = Rasteriser([object_surface(item) for item in items])
    light = {"towards_lamp": (0.0, 0.0, 1.0), "ambient": 0.5, "diffuse": 0.5}
    ((_, depth),) = rasteriser.draw([item.T_world_object for item in items], CAMERA, [T], **light)
    K = np.array([[CAMERA.fx, 0.0, CAMERA.cx], [0.0, CAMERA.fy, CAMERA.cy], [0.0, 0.0, 1.0]])
    there = np.isfinite(depth)
    points = (CAMERA.rays()[there] * depth[there, None]) @ T[:3, :3].T + T[:3, 3]
    return LineOfSight(depth.astype(np.float32), K, T), points[points[:, 2] > 0.01]


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("turn", [0.0, 0.4, 1.1, 2.3])
@pytest.mark.parametrize("viewpoint", [(0.9, -0.4, 0.6), (0.3, 0.5, 0.8)])
def test_solids_are_classified_and_measured(name, turn, viewpoint):
    shape, lying, height, is_round = OBJECTS[name]
    middle = np.array([0.03, -0.02, height])
    line_of_sight, points = render(shape, lie.exp_so3([0.0, 0.0, turn]) @ lying, middle, viewpoint)
    found = fit_solid(points, 0.002, float(points[:, 2].max()), line_of_sight, FEET, UP, 0.0)
    assert found is not None
    assert found.spherical == is_round
    assert np.sort(found.size) == pytest.approx(np.sort(true_size(shape)), abs=0.015)
    assert found.T_base_box[:3, 3] == pytest.approx(middle, abs=0.01)


def test_smeared_outlines_are_corrected():
    """A matcher gives columns beside an object the object's depth; with their number as `blur`, the fit corrects it."""
    shape, middle = BoxGeometry([0.08, 0.08, 0.10]), np.array([0.0, 0.0, 0.05])
    line_of_sight, points = render(shape, np.eye(3), middle, (1.2, 0.0, 0.8))
    columns = 3
    depth = line_of_sight.depth.copy()
    for _ in range(columns):
        depth[:, 1:-1] = np.minimum(np.minimum(depth[:, 2:], depth[:, :-2]), depth[:, 1:-1])
    smeared = LineOfSight(depth, line_of_sight.K, line_of_sight.T_base_optical)
    sizes = []
    for blur in (0.0, 2.0 * columns / CAMERA.fx):
        found = fit_solid(points, 0.002, 0.10, smeared, FEET, UP, blur)
        assert found is not None
        sizes.append(found.size)
    assert sizes[0].max() > 0.105
    assert sizes[1] == pytest.approx([0.08, 0.08, 0.10], abs=0.01)


def test_unmeasured_pixels_do_not_enlarge_objects():
    """On a plain table nothing is measured around an object; that must not enlarge the fit."""
    shape, middle = BoxGeometry([0.08, 0.06, 0.07]), np.array([0.0, 0.0, 0.035])
    line_of_sight, points = render(shape, np.eye(3), middle, (0.9, -0.4, 0.6))
    z = line_of_sight.T_base_optical[2, 3] + line_of_sight.depth * (CAMERA.rays() @ line_of_sight.T_base_optical[2, :3])
    depth = np.where(z > 0.004, line_of_sight.depth, np.float32(np.nan))
    found = fit_solid(
        points, 0.002, 0.07, LineOfSight(depth, line_of_sight.K, line_of_sight.T_base_optical), FEET, UP, 0.0
    )
    assert found is not None
    assert np.sort(found.size) == pytest.approx([0.06, 0.07, 0.08], abs=0.012)


def test_no_fit_without_visible_top_face():
    line_of_sight, points = render(
        BoxGeometry([0.06, 0.06, 0.2]), np.eye(3), np.array([0.0, 0.0, 0.1]), (0.7, 0.0, 0.1)
    )
    assert fit_solid(points, 0.002, 0.2, line_of_sight, FEET, UP, 0.0) is None


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (BOX, [0.0, -0.05, 0.05, -0.05, 0.05, 0.1]),
        (CYLINDER, [0.0, -0.05, 0.05, 0.1]),
        (BALL, [0.0, -0.05, 0.05]),
        (LYING, [0.0, -0.05, 0.05, 0.0, 0.05]),
    ],
)
def test_depth_from_above_equals_hand_calculation(kind, parameters):
    """All four are 10 cm high and under the camera: a ray straight down ends at 0.9 m, one beside them at 1 m."""
    viewpoint, p = np.array([0.0, 0.0, 1.0]), np.array([*parameters, 0.0, 0.0, 0.0])[:6]
    down, beside = [0.0, 0.0, -1.0, 0.9, 1.0], [0.2, 0.0, -1.0, 1.0, 1.0]
    assert misfit(kind, p, viewpoint, np.array([down, beside]), 100.0, np.inf) == pytest.approx(0.0, abs=1e-9)
    off = [0.0, 0.0, -1.0, 0.91, 1.0]
    assert misfit(kind, p, viewpoint, np.array([off]), 100.0, np.inf) == pytest.approx(1.0)
    only_table = [0.0, 0.0, -1.0, 1.0, 1.0]
    assert misfit(kind, p, viewpoint, np.array([only_table]), 100.0, np.inf) == pytest.approx(9.0)
