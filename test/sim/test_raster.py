"""The rasteriser against PyBullet's renderer: equal depth, and equal colours under equal light."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pybullet", reason="the simulation needs PyBullet: pip install 'manipapy[sim]'")

from manipapy_core import lie
from manipapy_core.model import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.sim import Pinhole, RenderReplica, SceneObject, SimWorld, StereoCamera, look_at, read_scene
from manipapy_core.sim.render.replica import FLAT
from manipapy_core.sim.scene import Texture
from reference.bullet_renderer import bullet_image
from sim.arms import HOME, arm

PINHOLE = Pinhole.from_field_of_view(160, 120, 1.2)
LEFT = look_at([1.4, 0.0, 0.9], [0.4, 0.0, 0.1])
CAMERA = StereoCamera(PINHOLE, 0.1, LEFT)


@pytest.fixture
def both_renderers(tmp_path):
    """A function of a world: its left image and depth by the rasteriser and by PyBullet."""

    def draw(world: SimWorld):
        with RenderReplica() as replica:
            content, view = world.content_and_view()
            replica.load(content)
            ours = replica.stereo(CAMERA, view, FLAT)
        return (ours.left, ours.depth), bullet_image(world, PINHOLE, LEFT, tmp_path)

    return draw


def assert_same_depth(ours: np.ndarray, theirs: np.ndarray):
    assert np.mean(np.isfinite(ours) != np.isfinite(theirs)) < 0.003
    hit = np.isfinite(ours) & np.isfinite(theirs)
    error = np.abs(ours[hit] - theirs[hit])
    assert np.quantile(error, 0.99) < 1e-4
    assert np.mean(error > 0.01) < 0.004  # pixels on outlines may belong to either surface


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_scene_depth_agrees_with_pybullet(both_renderers, name):
    with SimWorld() as world:
        for item in read_scene("table").objects:
            world.spawn(item)
        world.add_robot(arm(name), q=HOME[name])
        (_, ours), (_, theirs) = both_renderers(world)
    assert_same_depth(ours, theirs)


def test_triangles_are_clipped_at_the_near_plane(both_renderers):
    """A board that extends behind the camera: its nearest visible part is at the near plane."""
    T = LEFT @ lie.pose(None, [0.0, 0.2, 0.0])
    with SimWorld() as world:
        world.spawn(SceneObject("board", BoxGeometry([0.4, 0.02, 3.0]), T))
        (_, depth), _ = both_renderers(world)
    below = depth[-1, PINHOLE.width // 2]
    rays = PINHOLE.rays()
    # The upper side of the board is the plane y = 0.19 of the camera.
    assert below == pytest.approx(0.19 / rays[-1, PINHOLE.width // 2, 1], rel=1e-5)


def test_colours_agree_with_the_objects(both_renderers):
    colours = {"ball": (0.9, 0.1, 0.1), "box": (0.1, 0.8, 0.2), "can": (0.2, 0.2, 0.9)}
    shapes = {"ball": SphereGeometry(0.08), "box": BoxGeometry([0.15, 0.15, 0.15]), "can": CylinderGeometry(0.07, 0.2)}
    with SimWorld() as world:
        for number, (name, shape) in enumerate(shapes.items()):
            place = lie.pose(None, [0.4, 0.3 * (number - 1), 0.1])
            world.spawn(SceneObject(name, shape, place, rgba=(*colours[name], 1.0)))
        (ours, _), (theirs, depth) = both_renderers(world)
    inside = np.isfinite(depth)
    assert np.quantile(np.abs(ours[inside].astype(int) - theirs[inside]).max(axis=1), 0.95) <= 2


def test_both_cameras_render_the_same_texture():
    """Every point of a board has the same grey in both images, as stereo matching needs."""
    board = SceneObject(
        "board", BoxGeometry([0.6, 0.6, 0.01]), LEFT @ lie.pose(None, [0.0, 0.0, 1.0]), texture=Texture.SPECKLE
    )
    with SimWorld() as world, RenderReplica() as replica:
        world.spawn(board)
        content, view = world.content_and_view()
        replica.load(content)
        # A baseline that shifts the image by whole pixels.
        camera = replace(CAMERA, baseline=8.0 * 0.995 / PINHOLE.fx)
        frame = replica.stereo(camera, view)
    left, right = frame.left[40:80, 60:100].astype(int), frame.right[40:80, 52:92].astype(int)
    assert left.std() > 5.0
    assert np.abs(left - right).mean() < 1.0


def test_meshes_agree_with_pybullet(both_renderers, tmp_path):
    path = tmp_path / "tetrahedron.obj"
    path.write_text("v 0 0 0\nv 0.3 0 0\nv 0 0.3 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    with SimWorld() as world:
        world.spawn(SceneObject("solid", MeshGeometry(str(path), str(path)), lie.pose(None, [0.4, 0.0, 0.0])))
        (_, ours), (_, theirs) = both_renderers(world)
    assert_same_depth(ours, theirs)
    assert np.isfinite(ours).sum() > 20
