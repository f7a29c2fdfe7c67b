"""Objects in the world: spawn, rest, contacts and removal."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.model import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.sim import (
    DriveMode,
    GroundPlane,
    NameTaken,
    SceneError,
    SceneObject,
    SimWorld,
    Table,
    UnknownSceneObject,
    bundled_scenes,
    read_scene,
)
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")

CUBE_OBJ = """v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1
f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\nf 4 5 8\n"""


def at(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def stl(obj: str) -> str:
    """The same triangles as an STL text."""
    lines = [line.split() for line in obj.splitlines()]
    points = [" ".join(words[1:]) for words in lines if words[0] == "v"]
    facets = []
    for corners in ([int(word) for word in words[1:]] for words in lines if words[0] == "f"):
        vertices = "\n".join(f"vertex {points[corner - 1]}" for corner in corners)
        facets.append(f"facet normal 0 0 0\nouter loop\n{vertices}\nendloop\nendfacet")
    return "solid cube\n" + "\n".join(facets) + "\nendsolid cube\n"


@pytest.fixture
def world():
    with SimWorld() as world:
        world.spawn(SceneObject("floor", GroundPlane()))
        yield world


@pytest.mark.parametrize("scene", sorted(bundled_scenes()))
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_objects_of_bundled_scenes_rest_without_touching_the_arm(scene, name):
    with SimWorld() as world:
        content = read_scene(scene)
        world.load_scene(content)
        robot = world.add_robot(arm(name), q=HOME[name], T_world_base=content.T_world_base)
        world.step(500)
        assert robot.contacts() == ()
        for item in content.objects:
            moved = world.object_pose(item.name)[:3, 3] - item.T_world_object[:3, 3]
            assert np.linalg.norm(moved) < 1e-3, item.name


@pytest.mark.parametrize(
    ("shape", "height"),
    [(BoxGeometry([0.1, 0.1, 0.06]), 0.03), (CylinderGeometry(0.04, 0.1), 0.05), (SphereGeometry(0.05), 0.05)],
)
def test_objects_come_to_rest_on_floor_and_table(world, shape, height):
    world.spawn(SceneObject("table", Table([1.0, 1.0, 0.7]), at(3.0, 0.0, 0.7)))
    world.spawn(SceneObject("low", shape, at(0.0, 0.0, height + 0.02), mass=0.3))
    world.spawn(SceneObject("high", shape, at(3.0, 0.0, height + 0.72), mass=0.3))
    world.step(800)
    assert world.object_pose("low")[2, 3] == pytest.approx(height, abs=1e-3)
    assert world.object_pose("high")[2, 3] == pytest.approx(height + 0.7, abs=1e-3)


@pytest.mark.parametrize("suffix", ["obj", "stl"])
def test_meshes_collide(world, tmp_path, suffix):
    path = tmp_path / f"cube.{suffix}"
    path.write_text(CUBE_OBJ if suffix == "obj" else stl(CUBE_OBJ))
    mesh = MeshGeometry(str(path), str(path), [0.05, 0.05, 0.05])
    world.spawn(SceneObject("fixed", mesh, at(0.0, 0.0, 0.05)))
    world.spawn(SceneObject("loose", mesh, at(0.0, 0.0, 0.16), mass=0.4))
    world.step(800)
    assert world.object_pose("loose")[2, 3] == pytest.approx(0.15, abs=2e-3)


def test_list_remove_place_and_reset(world):
    world.spawn(SceneObject("box", BoxGeometry([0.1, 0.1, 0.1]), at(0.0, 0.0, 0.05), mass=1.0))
    world.spawn(SceneObject("ball", SphereGeometry(0.05), at(1.0, 0.0, 0.05), mass=1.0))
    assert list(world.objects()) == ["floor", "box", "ball"]
    with pytest.raises(NameTaken, match="box"):
        world.spawn(SceneObject("box", SphereGeometry(0.1)))
    world.remove("ball")
    with pytest.raises(UnknownSceneObject, match="floor, box"):
        world.object_pose("ball")
    with pytest.raises(UnknownSceneObject):
        world.remove("ball")
    world.place("box", at(0.5, 0.0, 0.3))
    world.step(100)
    assert world.object_pose("box")[0, 3] == pytest.approx(0.5)
    assert world.object_twist("box")[5] == pytest.approx(-9.81 * 0.1, rel=1e-6)
    world.reset()
    assert list(world.objects()) == ["floor", "box"]
    np.testing.assert_allclose(world.object_pose("box"), at(0.0, 0.0, 0.05), atol=1e-12)
    np.testing.assert_array_equal(world.object_twist("box"), np.zeros(6))


def test_invalid_objects_are_refused_with_all_reasons(world):
    with pytest.raises(SceneError, match="2 problems") as caught:
        world.spawn(SceneObject("bad", BoxGeometry([0.1, 0.0, 0.1]), mass=-1.0))
    assert any("size y" in problem for problem in caught.value.problems)
    assert list(world.objects()) == ["floor"]


def test_object_falls_when_its_support_is_removed(world):
    world.spawn(SceneObject("block", BoxGeometry([0.2, 0.2, 0.2]), at(0.0, 0.0, 0.1)))
    world.spawn(SceneObject("ball", BoxGeometry([0.05, 0.05, 0.05]), at(0.0, 0.0, 0.225), mass=0.1))
    world.step(2000)
    world.remove("block")
    world.step(100)
    assert world.object_pose("ball")[2, 3] < 0.2


def test_contacts_name_link_and_object_with_force(world):
    robot = world.add_robot(arm("ur5"), T_world_base=at(0.0, 0.0, 0.01), q=HOME["ur5"])
    robot.command(DriveMode.POSITION, np.add(HOME["ur5"], [0, 0.9, 0, 0, 0, 0]))
    world.step(2500)
    touching = [contact for contact in robot.contacts() if contact.force > 1.0]
    assert touching and {contact.other for contact in touching} == {"floor"}
    assert {contact.link for contact in touching} <= {"wrist_1_link", "wrist_2_link", "wrist_3_link", "forearm_link"}
    assert max(contact.depth for contact in touching) < 2e-3
