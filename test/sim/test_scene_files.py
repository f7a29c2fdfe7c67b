"""Scene files: parsing and validation with all problems at once. Needs no PyBullet."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.model import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.sim import (
    GroundPlane,
    SceneError,
    SceneNotFound,
    SceneObject,
    Table,
    Texture,
    bundled_scenes,
    object_from_mapping,
    read_scene,
)

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def scene_file(tmp_path):
    def write(text: str):
        path = tmp_path / "scene.yaml"
        path.write_text(text)
        return path

    return write


def problems_of(path) -> list[str]:
    with pytest.raises(SceneError) as caught:
        read_scene(path)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return list(caught.value.problems)


def test_every_object_type_is_read(scene_file, tmp_path):
    (tmp_path / "part.obj").write_text(TETRAHEDRON)
    scene = read_scene(
        scene_file(
            """
            robot: {xyz: [0.1, 0, 0.2], rpy: [0, 0, 1.5707963267948966]}
            objects:
              - {name: floor, type: plane}
              - {name: desk, type: table, size: [1.2, 0.8, 0.7], xyz: [0.4, 0, 0.7]}
              - {name: box, type: box, size: [0.1, 0.2, 0.3], mass: 0.5, colour: [1, 0, 0]}
              - {name: can, type: cylinder, radius: 0.03, length: 1e-1, colour: [0, 1, 0, 0.5], texture: speckle}
              - {name: ball, type: sphere, radius: 0.05, mass: 0.1, friction: 0.2, rpy: [0, 0, 1]}
              - {name: part, type: mesh, file: part.obj, scale: [0.1, 0.1, 0.2]}
            """
        )
    )
    items = {item.name: item for item in scene.objects}
    kinds = [type(item.shape) for item in scene.objects]
    assert kinds == [GroundPlane, Table, BoxGeometry, CylinderGeometry, SphereGeometry, MeshGeometry]
    assert items["box"].mass == 0.5 and items["floor"].fixed and items["desk"].fixed
    assert items["box"].rgba == (1.0, 0.0, 0.0, 1.0) and items["can"].rgba == (0.0, 1.0, 0.0, 0.5)
    assert items["can"].shape == CylinderGeometry(0.03, 0.1) and items["can"].texture is Texture.SPECKLE
    assert items["ball"].friction == 0.2
    assert items["part"].shape.filename == str(tmp_path / "part.obj")
    np.testing.assert_allclose(items["ball"].T_world_object[0, :2], [np.cos(1), -np.sin(1)])
    np.testing.assert_allclose(scene.T_world_base, [[0, -1, 0, 0.1], [1, 0, 0, 0], [0, 0, 1, 0.2], [0, 0, 0, 1]])


def test_every_problem_is_listed_at_once(scene_file):
    problems = problems_of(
        scene_file(
            """
            gravity: low
            robot: {xyz: [0, 0], roll: 1}
            objects:
              - {name: one, type: boxx, size: [1, 1, 1]}
              - {name: two, type: box, size: [0.1, 0, -1]}
              - {name: three, type: sphere, radius: .nan, mass: heavy}
              - {name: two, type: sphere, radius: 0.1, masss: 1}
              - {name: five, type: mesh, file: missing.obj, colour: [2, 0, 0]}
              - {name: six, type: table, size: [0.1, 0.1, 0.7], mass: 3}
              - {type: cylinder, radius: 0.1, texture: spots, xyz: here}
              - {name: eight, type: box, size: [1, 1], mass: 0}
              - just a string
            """
        )
    )
    expected = [
        "'gravity' is not known",
        "robot: key 'roll' is not known",
        "robot: xyz is [0, 0]",
        "objects[0] 'one': type 'boxx' is not known; did you mean 'box'?",
        "objects[1] 'two': size y is 0",
        "objects[1] 'two': size z is -1",
        "objects[2] 'three': radius is nan",
        "objects[2] 'three': mass is 'heavy'",
        "objects[3] 'two': key 'masss' is not known for a sphere; did you mean 'mass'?",
        "objects[4] 'five': file 'missing.obj': file not found",
        "objects[4] 'five': colour",
        "objects[5] 'six': a table of",
        "objects[5] 'six': a table cannot have a mass",
        "objects[6]: name is missing",
        "objects[6]: length is missing",
        "objects[6]: texture is 'spots'",
        "objects[6]: xyz is 'here'",
        "objects[7] 'eight': size is [1, 1]; write a list of 3 numbers",
        "objects[7] 'eight': mass is 0",
        "objects[8]: is 'just a string'",
        "2 objects are named 'two'",
    ]
    for start in expected:
        assert [problem for problem in problems if start in problem], start
    assert len(problems) == len(expected), problems


@pytest.mark.parametrize("text", ["- a\n- b", "objects: 5", "objects: [", "\tx: 1"])
def test_files_of_another_structure_are_refused(scene_file, text):
    assert problems_of(scene_file(text))


def test_empty_file_is_refused_and_empty_scene_is_valid(scene_file):
    assert problems_of(scene_file(""))
    assert read_scene(scene_file("objects: []")).objects == ()


def test_missing_files_name_the_bundled_scenes():
    with pytest.raises(SceneNotFound, match="table"):
        read_scene("no_such_scene")
    with pytest.raises(FileNotFoundError):
        read_scene("no_such_scene")


def test_meshes_outside_the_folder_are_not_read(scene_file, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "part.obj"
    elsewhere.write_text(TETRAHEDRON)
    problems = problems_of(scene_file(f"objects: [{{name: part, type: mesh, file: {elsewhere}}}]"))
    assert "outside" in problems[0]


def test_meshes_through_package_references(scene_file, tmp_path):
    folder = tmp_path / "parts/meshes"
    folder.mkdir(parents=True)
    (folder / "part.obj").write_text(TETRAHEDRON)
    path = scene_file("objects: [{name: part, type: mesh, file: package://parts/meshes/part.obj}]")
    assert read_scene(path, package_paths=[tmp_path]).objects[0].shape.filename == str(folder / "part.obj")


@pytest.mark.parametrize("name", sorted(bundled_scenes()))
def test_bundled_scenes_are_valid(name):
    scene = read_scene(name)
    assert scene.name == name and scene.objects
    np.testing.assert_array_equal(scene.T_world_base, np.eye(4))


def test_objects_from_mappings_are_validated():
    made = object_from_mapping({"name": "ball", "type": "sphere", "radius": "1e-1", "mass": 1})
    assert made.shape == SphereGeometry(0.1)
    with pytest.raises(SceneError, match="radius is -1"):
        object_from_mapping({"name": "ball", "type": "sphere", "radius": -1})
    T = np.eye(4)
    T[0, 0] = 2.0
    assert len(SceneObject("", SphereGeometry(0.1), T, mass=np.nan, rgba=(1, 1, 1, 2), friction=-1.0).problems()) == 5
