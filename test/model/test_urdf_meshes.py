"""Meshes are found where the user allows it, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from manipapy_core.errors import InputError, MeshNotFound
from manipapy_core.model import MeshGeometry, Robot
from manipapy_core.model.meshes import load_mesh
from model.small_arm import arm, only_problem_of, problems_of, visual


def mesh_arm(uri: str, more: str = "") -> str:
    return arm(hand=visual(f'<mesh filename="{uri}"{more}/>'))


def mesh_of(robot: Robot) -> MeshGeometry:
    geometry = robot.links["hand"].visuals[0].geometry
    assert isinstance(geometry, MeshGeometry)
    return geometry


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder `my_arm` with one mesh; no ament index is around."""
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    folder = tmp_path / "src" / "my_arm"
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "hand.stl").write_text("solid")
    (tmp_path / "secret.stl").write_text("solid")
    return folder


@pytest.mark.parametrize("given", ["package", "parent"])
def test_package_is_found_by_its_folder_or_the_one_above(package: Path, given: str) -> None:
    folder = package if given == "package" else package.parent
    robot = Robot.from_urdf(mesh_arm("package://my_arm/meshes/hand.stl"), package_paths=[folder])
    mesh = mesh_of(robot)
    assert mesh.filename == str(package / "meshes" / "hand.stl")
    assert mesh.uri == "package://my_arm/meshes/hand.stl"
    np.testing.assert_array_equal(mesh.scale, [1.0, 1.0, 1.0])


def test_scale_is_read(package: Path) -> None:
    text = mesh_arm("meshes/hand.stl", ' scale="0.001 0.001 -0.001"')
    mesh = mesh_of(Robot.from_urdf(text, package_paths=[package]))
    np.testing.assert_array_equal(mesh.scale, [0.001, 0.001, -0.001])


def test_zero_scale_is_refused(package: Path) -> None:
    text = mesh_arm("meshes/hand.stl", ' scale="1 0 1"')
    assert "scale is '1 0 1'; no factor may be 0" in only_problem_of(text, package_paths=[package])


def test_package_is_found_in_the_ament_index(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    share = tmp_path / "install" / "share"
    share.mkdir(parents=True)
    (share / "my_arm" / "meshes").mkdir(parents=True)
    # As `colcon build --symlink-install` leaves it: a link into the source tree.
    (share / "my_arm" / "meshes" / "hand.stl").symlink_to(package / "meshes" / "hand.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(["/nonexistent", str(tmp_path / "install")]))
    mesh = mesh_of(Robot.from_urdf(mesh_arm("package://my_arm/meshes/hand.stl")))
    assert mesh.filename == str(share / "my_arm" / "meshes" / "hand.stl")


def test_given_folders_come_before_the_ament_index(
    package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = tmp_path / "install" / "share" / "my_arm" / "meshes"
    installed.mkdir(parents=True)
    (installed / "hand.stl").write_text("old")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    mesh = mesh_of(Robot.from_urdf(mesh_arm("package://my_arm/meshes/hand.stl"), package_paths=[package]))
    assert mesh.filename.startswith(str(package))


@pytest.mark.parametrize("form", ["meshes/hand.stl", "./meshes/../meshes/hand.stl", "{folder}/meshes/hand.stl"])
def test_paths_are_relative_to_the_description(package: Path, form: str) -> None:
    path = package / "arm.urdf"
    path.write_text(mesh_arm(form.format(folder=package)))
    assert mesh_of(Robot.from_urdf(path)).filename == str(package / "meshes" / "hand.stl")


@pytest.mark.parametrize("host", ["", "localhost"])
def test_file_uri_inside_an_allowed_folder(package: Path, host: str) -> None:
    spaced = package / "my mesh.stl"
    spaced.write_text("solid")
    uri = spaced.as_uri().replace("file://", f"file://{host}")
    assert "%20" in uri
    assert mesh_of(Robot.from_urdf(mesh_arm(uri), package_paths=[package])).filename == str(spaced)


def test_missing_mesh_says_where_it_looked_and_what_to_do(package: Path) -> None:
    problem = only_problem_of(mesh_arm("package://my_arm/meshes/foot.stl"), package_paths=[package])
    assert problem.startswith("text:3: <mesh> of link 'hand': mesh 'package://my_arm/meshes/foot.stl': file not found")
    assert str(package / "meshes" / "foot.stl") in problem
    assert "pass package_paths=[the folder of package 'my_arm', or the folder that contains it]" in problem
    assert "kinematics and dynamics do without it" in problem


def test_missing_mesh_is_reported_once_however_often_it_is_used(package: Path) -> None:
    shape = '<geometry><mesh filename="foot.stl"/></geometry>'
    hand = f"<visual>{shape}</visual>\n<collision>{shape}</collision>"
    assert len(problems_of(arm(hand=hand), package_paths=[package])) == 1


def test_meshes_can_be_left_unchecked(package: Path) -> None:
    robot = Robot.from_urdf(mesh_arm("package://elsewhere/foot.stl"), check_meshes=False)
    assert mesh_of(robot).filename == ""
    assert mesh_of(robot).uri == "package://elsewhere/foot.stl"
    assert "file not found" in robot.warnings[0]


ESCAPES = [
    "package://my_arm/../../secret.stl",
    "package://my_arm/meshes/../../../secret.stl",
    "package://my_arm/{outside}/secret.stl",
    "package://my_arm/leak.stl",
    "package://my_arm/leaks/secret.stl",
    "../../secret.stl",
    "leak.stl",
    "{outside}/secret.stl",
    "file://{outside}/secret.stl",
    "file://{outside}/src/my_arm/%2e%2e/%2e%2e/secret.stl",
]


@pytest.mark.parametrize("check_meshes", [True, False])
@pytest.mark.parametrize("uri", ESCAPES)
def test_no_reference_leads_out_of_the_allowed_folders(package: Path, uri: str, check_meshes: bool) -> None:
    outside = package.parent.parent
    (package / "leak.stl").symlink_to(outside / "secret.stl")
    (package / "leaks").symlink_to(outside)
    path = package / "arm.urdf"
    path.write_text(mesh_arm(uri.format(outside=outside)))
    if check_meshes:
        problem = only_problem_of(path, package_paths=[package])
        assert "secret.stl, outside the folder of the description" in problem
        assert "add its folder to package_paths, or move the file" in problem
    else:
        robot = Robot.from_urdf(path, package_paths=[package], check_meshes=False)
        assert mesh_of(robot).filename == ""
        assert "outside the folder of the description" in robot.warnings[0]


def test_dots_cannot_leave_the_ament_index(package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "install" / "share" / "my_arm").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    problem = only_problem_of(mesh_arm("package://my_arm/../../../secret.stl"))
    assert "outside the folder of the description" in problem


def test_link_into_another_given_folder_is_allowed(package: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "palm.stl").write_text("solid")
    (package / "palm.stl").symlink_to(shared / "palm.stl")
    robot = Robot.from_urdf(mesh_arm("palm.stl"), package_paths=[package, shared])
    assert mesh_of(robot).filename == str(package / "palm.stl")


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("package://../x.stl", "is not of the form package://name/path"),
        ("package://my_arm", "is not of the form package://name/path"),
        ("http://example.org/x.stl", "unknown scheme http://; use package://, file:// or a relative path"),
        ("file://elsewhere/x.stl", "names the host 'elsewhere'; only local files are read"),
        ("meshes", "file not found"),
        ("x" * 5000, "file not found"),
    ],
)
def test_unusable_references_are_explained(package: Path, uri: str, words: str) -> None:
    assert words in only_problem_of(mesh_arm(uri), package_paths=[package])


def test_text_without_folders_says_that_it_knows_none(package: Path) -> None:
    for uri in ("hand.stl", "package://my_arm/meshes/hand.stl"):
        assert "searched: nowhere, no folder is known" in only_problem_of(mesh_arm(uri))


def test_package_paths_must_be_folders(package: Path) -> None:
    with pytest.raises(InputError, match="is not a folder; correct or remove it"):
        Robot.from_urdf(arm(), package_paths=[package / "nowhere"])
    with pytest.raises(InputError, match="give a list of folders"):
        Robot.from_urdf(arm(), package_paths=str(package))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.dae", b"<COLLADA>"),
        ("a.dae", b'<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"/>'),
        ("a.dae", b'<?xml version="1.0"?><COLLADA><library_geometries><geometry id="g"><mesh><source id="s">'
         b'<float_array count="9">x y z</float_array></source></mesh></geometry></library_geometries></COLLADA>'),
        ("a.stl", b"solid x\nfacet"),
        ("a.obj", b"f 1 2 3\nv nan 0 0"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex -5"),
        ("a.glb", b"glTF\x02\x00\x00\x00"),
        ("a.xyz123", b"what is this"),
        ("a", b""),
    ],
)  # fmt: skip
def test_broken_and_unknown_mesh_files_are_our_errors(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MeshNotFound, match="export it again as binary STL"):
        load_mesh(str(tmp_path / name))


@pytest.mark.parametrize("numbers", ["0 1 -2", "0 1 3"])
def test_triangles_of_points_that_do_not_exist_are_refused(tmp_path: Path, numbers: str) -> None:
    text = (Path(__file__).parents[1] / "fuzz" / "corpus" / "triangle.dae").read_text(encoding="utf-8")
    (tmp_path / "a.dae").write_text(text.replace("<p>0 1 2</p>", f"<p>{numbers}</p>"), encoding="utf-8")
    with pytest.raises(MeshNotFound, match="export it again as binary STL"):
        load_mesh(str(tmp_path / "a.dae"))


def test_collada_scene_is_read_as_trimesh_reads_it(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="the second route")
    scene = trimesh.Scene()
    scene.add_geometry(
        trimesh.creation.box([0.1, 0.2, 0.3]), transform=trimesh.transformations.translation_matrix([1, 2, 3])
    )
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.1, 0.2, 0.3])
    scene.add_geometry(trimesh.creation.cylinder(radius=0.1, height=0.4, sections=9), transform=turn)
    path = tmp_path / "two.DAE"
    path.write_bytes(trimesh.exchange.dae.export_collada(scene.to_mesh()))
    ours = load_mesh(str(path), 2.0)
    theirs = trimesh.load(path, force="mesh", process=False)
    corners = np.asarray(theirs.vertices)[theirs.faces]
    assert len(ours.triangles) == len(corners) > 20
    np.testing.assert_allclose(
        np.sort(ours.corners.reshape(-1, 9), axis=0), np.sort(2.0 * corners.reshape(-1, 9), axis=0)
    )
