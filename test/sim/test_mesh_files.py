"""Mesh files are converted for PyBullet or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from manipapy_core import Robot, lie
from manipapy_core.errors import MeshNotFound
from manipapy_core.model import BoxGeometry, MeshGeometry
from manipapy_core.model.meshes import load_mesh
from manipapy_core.sim import SceneError, SceneObject, SimWorld
from manipapy_core.sim.bullet.robot_file import readable_mesh
from reference import urdf_writing as urdf

TRIANGLES = np.array(
    [
        [[0, 0, 0], [0, 1, 0], [1, 0, 0]],
        [[0, 0, 0], [1, 0, 0], [0, 0, 1]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ],
    dtype=np.float32,
)


def stl_text(triangles) -> bytes:
    facets = "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {x:e} {y:e} {z:e}\n" for x, y, z in triangle)
        + " endloop\nendfacet\n"
        for triangle in triangles
    )
    return f"solid part\n{facets}endsolid part\n".encode()


def stl_binary(triangles) -> bytes:
    facets = b"".join(np.float32([0, 0, 0]).tobytes() + triangle.tobytes() + b"\0\0" for triangle in triangles)
    return b"solid, and yet binary".ljust(80, b" ") + np.uint32(len(triangles)).tobytes() + facets


@pytest.mark.parametrize("write", [stl_text, stl_binary])
def test_binary_and_ascii_stl_are_read(tmp_path, write):
    path = tmp_path / "part.STL"
    path.write_bytes(write(TRIANGLES))
    mesh = load_mesh(str(path))
    np.testing.assert_array_equal(mesh.points[mesh.triangles], TRIANGLES)
    copy = readable_mesh(str(path), str(tmp_path))
    assert copy.endswith(".obj") and Path(copy).read_text().count("\nf ") == 4


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("cut.stl", stl_binary(TRIANGLES)[:-10], "no triangles"),
        ("cut_text.stl", stl_text(TRIANGLES)[:-120], "no triangles"),
        ("words.stl", b"vertex a b c\n" * 3, "no triangles"),
        ("nan.stl", stl_text(np.full((1, 3, 3), np.nan)), "finite"),
        ("empty.obj", b"v 0 0 0\n", "no faces"),
        ("part.step", b"ISO-10303", "format"),
    ],
)
def test_broken_files_are_refused(tmp_path, name, content, reason):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(MeshNotFound, match=reason):
        readable_mesh(str(path), str(tmp_path))
    with pytest.raises(MeshNotFound, match="does not exist"):
        readable_mesh(str(tmp_path / "missing.obj"), str(tmp_path))


def robot_with(path) -> Robot:
    shape = f'<collision><geometry><mesh filename="{path.name}"/></geometry></collision></link>'
    hand = urdf.link("hand", 1.0).replace("</link>", shape)
    wrist = urdf.joint("wrist", "revolute", "base", "hand", axis=(0, 0, 1))
    text = urdf.robot("meshed", urdf.link("base"), hand, wrist)
    return Robot.from_urdf(text, package_paths=[path.parent])


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("write", [stl_text, stl_binary])
def test_robot_with_stl_has_its_collision_shape(tmp_path, write):
    path = tmp_path / "hand.stl"
    path.write_bytes(write(TRIANGLES))
    with SimWorld() as world:
        robot = world.add_robot(robot_with(path))
        # The tetrahedron fills the corner at the origin; the cube overlaps it there by 1 cm.
        world.spawn(SceneObject("cube", BoxGeometry([0.2, 0.2, 0.2]), lie.pose(None, [-0.09, -0.09, -0.09])))
        world.step()
        touching = robot.contacts()
        assert {(contact.link, contact.other) for contact in touching} == {("hand", "cube")}
        assert max(contact.depth for contact in touching) == pytest.approx(0.01, abs=3e-3)


@pytest.mark.usefixtures("simulator")
def test_mesh_that_cannot_be_read_is_an_error(tmp_path):
    path = tmp_path / "hand.dae"
    path.write_text("<COLLADA")
    with SimWorld() as world:
        with pytest.raises(MeshNotFound, match="hand"):
            world.add_robot(robot_with(path))
        with pytest.raises(SceneError, match="format"):
            world.spawn(SceneObject("part", MeshGeometry(str(path), "hand.dae")))
