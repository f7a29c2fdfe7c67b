"""Robot drawings: facets match the shapes, and drawing works without a screen."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from manipapy_core import Robot, draw, kinematics
from manipapy_core.draw.robot import facets_of
from manipapy_core.errors import InputError, ShapeError, UnknownJoint
from manipapy_core.model import BoxGeometry, CylinderGeometry, Link, Shape, SphereGeometry, bundled_robots


def surface(geometry, T=None):
    return facets_of([Link("part", visuals=(Shape(None, np.eye(4) if T is None else T, geometry),))])


def volume(corners) -> float:
    """Enclosed by the facets, positive only if all of them face outwards (divergence theorem)."""
    a, b, c, d = np.moveaxis(corners, 1, 0)
    signed = np.einsum("fi,fi->f", a, np.cross(b, c)) + np.einsum("fi,fi->f", a, np.cross(c, d))
    return float(signed.sum()) / 6.0


def test_facets_enclose_the_shape():
    # Twenty-four sides approximate a circle.
    assert volume(surface(BoxGeometry(np.array([0.1, 0.2, 0.33]))).corners) == pytest.approx(0.1 * 0.2 * 0.33)
    assert volume(surface(CylinderGeometry(0.1, 0.5)).corners) == pytest.approx(np.pi * 0.01 * 0.5, rel=0.02)
    assert volume(surface(SphereGeometry(0.1)).corners) == pytest.approx(4 / 3 * np.pi * 0.001, rel=0.04)


def test_facets_move_with_their_link():
    T = np.eye(4)
    T[:3, 3] = 1.0, 2.0, 3.0
    facets = surface(BoxGeometry(np.array([0.2, 0.2, 0.2])), T)
    np.testing.assert_allclose(facets.corners.reshape(-1, 3).mean(axis=0), (1, 2, 3), atol=1e-12)
    turned = np.diag([-1.0, -1.0, 1.0, 1.0])
    np.testing.assert_allclose(facets.placed(turned[None]).reshape(-1, 3).mean(axis=0), (-1, -2, 3), atol=1e-12)


def test_light_comes_from_above():
    facets = surface(BoxGeometry(np.array([0.1, 0.1, 0.1])))
    corners = facets.placed(np.eye(4)[None])
    brightness = facets.shaded(corners)[:, 0]
    height = corners[..., 2].mean(axis=1)
    assert brightness[height > 0.049].min() > brightness[height < 0.049].max() > brightness[height < -0.049].max()


@pytest.mark.parametrize("name", bundled_robots())
def test_every_bundled_robot_can_be_drawn(name, tmp_path):
    robot = Robot.from_urdf(name)
    axes = draw.draw_robot(robot, np.full(len(robot.free_joints), 0.02))
    tip = kinematics.forward(robot.tree(), np.full(len(robot.free_joints), 0.02))[:3, 3]
    for limits, value in zip((axes.get_xlim(), axes.get_ylim(), axes.get_zlim()), tip, strict=True):
        assert limits[0] < value < limits[1]
    axes.figure.savefig(tmp_path / "robot.png")
    image = axes.figure.canvas.buffer_rgba()
    assert np.ptp(np.asarray(image)[..., :3]) > 100, "nothing but background"


def test_axes_have_equal_scale():
    axes = draw.draw_robot(Robot.from_urdf("ur5"))
    sizes = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    np.testing.assert_allclose(axes.get_box_aspect() / np.array(sizes), np.full(3, axes.get_box_aspect()[0] / sizes[0]))


def test_chain_is_drawn_as_a_skeleton():
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    drawing = draw.RobotDrawing(chain)
    q = np.linspace(-1, 1, 6)
    drawing.move_to(q)
    _, skeleton, faces, points = drawing.artists
    assert skeleton.get_visible() and not faces.get_visible()
    joints = np.array(points.get_data_3d()).T
    np.testing.assert_allclose(joints[-1], kinematics.forward(chain, q)[:3, 3], atol=1e-12)
    assert len(joints) == chain.n + 1


def test_meshes_are_marked_and_the_skeleton_shown():
    text = """<robot name="m"><link name="a"/><link name="b"><visual><origin xyz="0 0 0.5"/>
      <geometry><mesh filename="package://nowhere/b.stl"/></geometry></visual></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint></robot>"""
    drawing = draw.RobotDrawing(Robot.from_urdf(text, check_meshes=False))
    drawing.move_to([np.pi / 2])
    _, skeleton, _, points = drawing.artists
    assert skeleton.get_visible()
    np.testing.assert_allclose(np.array(points.get_data_3d()).T[-1], (0, -0.5, 0), atol=1e-12)


def test_joints_by_name_and_by_order_agree():
    robot = Robot.from_urdf("panda")
    one, other = draw.RobotDrawing(robot), draw.RobotDrawing(robot)
    q = np.linspace(0.0, 0.04, len(robot.free_joints))
    one.move_to(q)
    other.move_to(dict(zip(robot.tree().joint_names, q, strict=True)))
    np.testing.assert_array_equal(one.corners, other.corners)
    assert np.abs(one.corners - one.facets.corners).max() > 0.1


def test_invalid_arguments_are_refused():
    robot = Robot.from_urdf("ur5")
    with pytest.raises(ShapeError, match="wrist_3_joint"):
        draw.draw_robot(robot, np.zeros(5))
    with pytest.raises(UnknownJoint):
        draw.draw_robot(robot, {"elbow": 1.0})
    axes = draw.new_axes()
    with pytest.raises(ShapeError):
        draw.draw_frame(axes, np.eye(3))
    with pytest.raises(InputError, match="x, y, z"):
        draw.draw_frame(axes, np.eye(4), names=("x",))
    draw.draw_frame(axes, np.eye(4), names=("x", "y", "z"))
    draw.draw_floor(axes, 0.5)
    assert len(axes.texts) == 3


def test_missing_matplotlib_error_names_the_extra():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None  # import raises ImportError\n"
        "from manipapy_core import Robot, draw\n"
        "try:\n"
        "    draw.draw_robot(Robot.from_urdf('ur5'))\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "manipapy[plots]" in done.stdout
