"""Rendered images agree with the camera matrices and the true depth."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest

from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.model import BoxGeometry, CylinderGeometry, SphereGeometry
from manipapy_core.sim import Pinhole, RenderReplica, SceneObject, SimWorld, StereoCamera, StereoFrame, look_at
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")

LEFT = look_at([1.0, -0.4, 0.7], [0.1, 0.05, 0.1])
CAMERA = StereoCamera(Pinhole.from_field_of_view(320, 240, 1.0), 0.08, LEFT)
RED = (1.0, 0.0, 0.0, 1.0)


def render_frame(camera: StereoCamera, *items: SceneObject) -> StereoFrame:
    with SimWorld() as world, RenderReplica() as replica:
        for item in items:
            world.spawn(item)
        content, view = world.content_and_view()
        replica.load(content)
        return replica.stereo(camera, view)


def middle_of_red(image: np.ndarray) -> np.ndarray:
    v, u = np.nonzero((image[..., 0] > 60) & (image[..., 1] < 40))
    return np.array([u.mean(), v.mean()])


def at(position, rotation=None) -> np.ndarray:
    return lie.pose(rotation, position)


def test_look_at_gives_an_optical_frame():
    T = look_at([1.0, 0.0, 0.5], [0.0, 0.0, 0.5])
    np.testing.assert_allclose(T[:3, 2], [-1, 0, 0], atol=1e-12)  # z forward
    np.testing.assert_allclose(T[:3, 1], [0, 0, -1], atol=1e-12)  # y down
    np.testing.assert_allclose(T[:3, 0], [0, 1, 0], atol=1e-12)  # x right
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    with pytest.raises(InputError, match="up"):
        look_at([0, 0, 1], [0, 0, 0])


def test_matrices_follow_camera_info():
    pinhole = CAMERA.pinhole
    assert pinhole.fx == pytest.approx(160 / math.tan(0.5)) == pinhole.fy
    np.testing.assert_array_equal(CAMERA.P_left[:, :3], pinhole.K)
    assert CAMERA.P_right[0, 3] == -pinhole.fx * 0.08
    point = np.array([0.1, -0.05, 0.9])
    np.testing.assert_allclose(pinhole.project(point), (pinhole.K @ point / 0.9)[:2])
    in_right = lie.inverse(CAMERA.T_left_right) @ [*point, 1.0]
    u, v, w = CAMERA.P_right @ [*point, 1.0]
    np.testing.assert_allclose(pinhole.project(in_right[:3]), [u / w, v / w])


@pytest.mark.parametrize("position", [(0.1, 0.05, 0.1), (0.3, 0.2, 0.25), (0.0, -0.3, 0.0)])
@pytest.mark.parametrize("shape", [SphereGeometry(0.04), BoxGeometry([0.05, 0.05, 0.05])])
def test_objects_project_by_the_camera_matrix(position, shape):
    frame = render_frame(CAMERA, SceneObject("target", shape, at(position), rgba=RED))
    point = lie.inverse(LEFT) @ [*position, 1.0]
    for image, P in ((frame.left, CAMERA.P_left), (frame.right, CAMERA.P_right)):
        u, v, w = P @ point
        # The centre of the visible disc is the projection of the sphere's centre up to perspective.
        assert np.abs(middle_of_red(image) - [u / w, v / w]).max() < 1.0
    # fx · baseline / Z, from the two images alone.
    disparity = middle_of_red(frame.left)[0] - middle_of_red(frame.right)[0]
    assert disparity == pytest.approx(CAMERA.pinhole.fx * CAMERA.baseline / point[2], abs=0.5)


def test_sphere_depth_is_accurate_to_a_millimetre():
    position, radius = np.array([0.2, 0.0, 0.1]), 0.1
    frame = render_frame(CAMERA, SceneObject("ball", SphereGeometry(radius), at(position), rgba=RED))
    centre = (lie.inverse(LEFT) @ [*position, 1.0])[:3]
    rays = CAMERA.pinhole.rays()
    # |t ray − centre| = radius, the nearer solution; t is the depth because rays have z = 1.
    a, b = (rays**2).sum(-1), rays @ centre
    root = b**2 - a * (centre @ centre - radius**2)
    normal = (rays * ((b - np.sqrt(np.maximum(root, 0.0))) / a)[..., None] - centre) / radius
    # Away from the rim, where one pixel spans centimetres of depth.
    inside = (root > 0.0) & (normal[..., 2] < -0.4)
    truth = (b - np.sqrt(np.maximum(root, 0.0))) / a
    assert inside.sum() > 500
    assert np.abs(frame.depth - truth)[inside].max() < 1e-3
    assert np.isinf(frame.depth[root < -0.01]).all()


def test_tilted_board_depth_is_exact_at_every_pixel():
    """An offset of half a pixel would appear as millimetres."""
    rotation = lie.exp_so3([0.5, 0.6, 0.1])
    T_left_board = at([0.02, 0.01, 0.9], rotation)
    board = SceneObject("board", BoxGeometry([0.5, 0.5, 0.02]), LEFT @ T_left_board, rgba=RED)
    frame = render_frame(CAMERA, board)
    normal = rotation[:, 2]
    surface = T_left_board[:3, 3] - np.sign(normal @ T_left_board[:3, 3]) * 0.01 * normal
    truth = (surface @ normal) / (CAMERA.pinhole.rays() @ normal)
    hit = CAMERA.pinhole.rays() * truth[..., None] - surface
    inside = (np.abs(hit @ rotation[:, :2]) < 0.24).all(-1)
    assert inside.sum() > 5000
    assert np.abs(frame.depth - truth)[inside].max() < 2e-5


def test_arbitrary_principal_point_and_focal_lengths():
    pinhole = Pinhole(200, 160, 210.0, 190.0, 90.0, 85.5)
    camera = StereoCamera(pinhole, 0.05, np.eye(4))
    frame = render_frame(camera, SceneObject("can", CylinderGeometry(0.03, 0.06), at([0.05, -0.04, 0.8]), rgba=RED))
    np.testing.assert_allclose(middle_of_red(frame.left), pinhole.project([0.05, -0.04, 0.8]), atol=1.0)


def test_camera_on_a_link_moves_with_it():
    T_tool_left = at([0.0, 0.05, 0.0])
    camera = StereoCamera(Pinhole.from_field_of_view(64, 48, 1.0), 0.05, T_tool_left, robot="ur5", link="tool0")
    with SimWorld() as world, RenderReplica() as replica:
        T_world_base = at([0.3, 0.0, 0.2])
        robot = world.add_robot(arm("ur5"), q=HOME["ur5"], T_world_base=T_world_base)
        content, view = world.content_and_view()
        replica.load(content)
        frame = replica.stereo(camera, view)
        T_base_tool = kinematics.forward(arm("ur5").chain("base_link", "tool0"), robot.state().q)
        np.testing.assert_allclose(frame.T_base_left, T_base_tool @ T_tool_left, atol=1e-6)
        np.testing.assert_allclose(frame.T_world_left, T_world_base @ T_base_tool @ T_tool_left, atol=1e-6)
        with pytest.raises(InputError, match="r2d2"):
            replica.stereo(StereoCamera(camera.pinhole, 0.05, T_tool_left, robot="r2d2", link="eye"), view)


def test_arm_is_rendered_at_its_pose():
    with SimWorld() as world, RenderReplica() as replica:
        world.add_robot(arm("ur5"), q=HOME["ur5"])
        content, view = world.content_and_view()
        replica.load(content)
        frame = replica.stereo(CAMERA, view)
    points = CAMERA.pinhole.rays() * np.where(np.isfinite(frame.depth), frame.depth, 0.0)[..., None]
    hit = np.isfinite(frame.depth)
    assert hit.sum() > 3000
    world_points = points[hit] @ LEFT[:3, :3].T + LEFT[:3, 3]
    # Every rendered point belongs to the arm, so it is near the line of its joints.
    joints = np.array([T[:3, 3] for T in kinematics.link_poses(arm("ur5").tree(), HOME["ur5"])])
    spine = np.concatenate([np.linspace(a, b, 20) for a, b in pairwise(joints[:-3])])
    distance = np.sqrt(((world_points[::50, None] - spine) ** 2).sum(-1)).min(axis=1)
    assert distance.max() < 0.25


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pinhole(0, 10, 1.0, 1.0, 0.0, 0.0),
        lambda: Pinhole(10, 10, 1.0, 1.0, 0.0, 0.0, near=1.0, far=0.5),
        lambda: Pinhole.from_field_of_view(10, 10, 4.0),
        lambda: StereoCamera(CAMERA.pinhole, -0.1, np.eye(4)),
        lambda: StereoCamera(CAMERA.pinhole, 0.1, np.eye(4), robot="ur5"),
    ],
)
def test_impossible_cameras_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_equal_content_is_not_rebuilt():
    with SimWorld() as world, RenderReplica() as replica:
        world.spawn(SceneObject("still", BoxGeometry([0.1, 0.1, 0.1])))
        replica.load(pickle.loads(pickle.dumps(world.content_and_view()[0])))
        first = replica._objects["still"]
        world.spawn(SceneObject("new", BoxGeometry([0.1, 0.1, 0.1])))
        replica.load(pickle.loads(pickle.dumps(world.content_and_view()[0])))
        assert replica._objects["still"] is first
        world.remove("still")
        world.spawn(SceneObject("still", BoxGeometry([0.2, 0.1, 0.1])))
        replica.load(pickle.loads(pickle.dumps(world.content_and_view()[0])))
        assert replica._objects["still"].shape.size[0] == 0.2
