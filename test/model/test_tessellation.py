"""Tessellated shapes: closed, outward, on the surface, and the same in quadrilaterals and triangles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manipapy_core.model import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.model.meshes import TriangleMesh, load_mesh, write_obj
from manipapy_core.model.tessellation import patches_of, quads, rectangle_patch, triangles

SIZE = np.array([0.3, 0.5, 0.7])
SHAPES = [BoxGeometry(SIZE), CylinderGeometry(0.2, 0.6), SphereGeometry(0.4)]
SEGMENTS = 48


def exact_volume(shape) -> float:
    if isinstance(shape, BoxGeometry):
        return float(np.prod(shape.size))
    if isinstance(shape, CylinderGeometry):
        return math.pi * shape.radius**2 * shape.length
    return 4.0 / 3.0 * math.pi * shape.radius**3


def volume(corners) -> float:
    """Enclosed by triangles that face outwards (divergence theorem)."""
    return float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("longest_edge", [math.inf, 0.1])
def test_triangles_enclose_the_volume_of_the_shape(shape, longest_edge):
    mesh = triangles(patches_of(shape, segments=SEGMENTS, longest_edge=longest_edge))
    assert volume(mesh.points[mesh.faces]) == pytest.approx(exact_volume(shape), rel=0.01)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_surface_is_closed(shape):
    mesh = triangles(patches_of(shape, segments=SEGMENTS, longest_edge=0.1))
    # Patches share the positions of their rims, not their vertices.
    _, place = np.unique(np.round(mesh.points, 9) + 0.0, axis=0, return_inverse=True)
    faces = place.reshape(-1)[mesh.faces]
    edges = [tuple(edge) for a, b, c in faces.tolist() for edge in ((a, b), (b, c), (c, a))]
    assert len(set(edges)) == len(edges)
    assert {(b, a) for a, b in edges} == set(edges)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_normals_are_unit_vectors_along_the_faces(shape):
    mesh = triangles(patches_of(shape, segments=SEGMENTS))
    assert np.linalg.norm(mesh.normals, axis=1) == pytest.approx(1.0)
    corners = mesh.points[mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    assert np.einsum("ti,tki->tk", across, mesh.normals[mesh.faces]).min() > 0.98
    assert mesh.texture.min() >= 0.0 and mesh.texture.max() <= 1.0


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_quads_and_triangles_are_the_same_surface(shape):
    patches = patches_of(shape, segments=SEGMENTS, longest_edge=0.1)
    a, b, c, d = np.moveaxis(quads(patches), 1, 0)
    halves = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    mesh = triangles(patches)
    assert volume(halves) == pytest.approx(volume(mesh.points[mesh.faces]), rel=1e-12)


def test_cells_are_no_longer_than_asked():
    cells = quads(patches_of(BoxGeometry(SIZE), segments=SEGMENTS, longest_edge=0.1))
    sides = np.linalg.norm(np.roll(cells, -1, axis=1) - cells, axis=2)
    assert sides.max() <= 0.1 + 1e-12


def test_meshes_have_no_patches():
    assert patches_of(MeshGeometry("part.stl", "part.stl"), segments=SEGMENTS) == []
    assert quads([]).shape == (0, 4, 3)


def test_rectangle_faces_up():
    mesh = triangles([rectangle_patch(2.0, 1.0, 4, 2)])
    corners = mesh.points[mesh.faces]
    area = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert len(mesh.faces) == 16 and (area[:, 2] > 0.0).all() and area[:, 2].sum() == pytest.approx(2.0)


def test_written_obj_is_read_back(tmp_path):
    pytest.importorskip("trimesh", reason="mesh files are read by trimesh, an optional package")
    mesh = triangles(patches_of(CylinderGeometry(0.2, 0.6), segments=SEGMENTS))
    for name, written in (("bare", TriangleMesh(mesh.points, mesh.faces)), ("textured", mesh)):
        path = str(tmp_path / f"{name}.obj")
        write_obj(path, written)
        found = load_mesh(path, scale=2.0)
        assert volume(found.points[found.triangles]) == pytest.approx(8.0 * volume(mesh.points[mesh.faces]), rel=1e-6)
    text = (tmp_path / "textured.obj").read_text()
    assert text.count("\nvn ") == text.count("\nvt ") == len(mesh.points)
