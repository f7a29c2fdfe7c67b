"""Levels of convex hulls: each contains the hull, and parts with many vertices are resolved at fractions of a mm."""

from __future__ import annotations

import itertools

import coal
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from geometry.arms import at
from manipapy_core import Robot, lie
from manipapy_core.geometry import Checker, ConvexMesh, RobotBody
from manipapy_core.geometry.exact import _geometry, exact_distance
from manipapy_core.geometry.hulls import COARSE_VERTICES, FINE_VERTICES, hull_levels
from manipapy_core.model.meshes import TriangleMesh, write_obj


def rounded(count: int, stretch=(1.0, 1.0, 1.0), seed: int = 0) -> ConvexMesh:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return ConvexMesh(0.06 * np.array(stretch) * points / np.linalg.norm(points, axis=1, keepdims=True))


def distance_to_hull(point, corners) -> float:
    ball, hull = coal.Sphere(1e-9), _geometry(ConvexMesh(corners))
    placed = coal.Transform3s(np.eye(3), point), coal.Transform3s(np.eye(3), np.zeros(3))
    return coal.distance(ball, placed[0], hull, placed[1], coal.DistanceRequest(), coal.DistanceResult())


@pytest.mark.parametrize(
    "mesh", [rounded(600), rounded(300, (1.0, 0.5, 6.0)), rounded(2500, (1.0, 1.0, 0.05))], ids=["ball", "long", "flat"]
)
def test_levels_contain_the_hull(mesh):
    levels = hull_levels(mesh)
    assert len(levels.coarse.vertices) == COARSE_VERTICES
    assert len(levels.fine.vertices) <= FINE_VERTICES
    assert levels.fine.ball < 2e-4 < levels.coarse.ball
    for level in (levels.coarse, levels.fine):
        farthest = max(distance_to_hull(point, level.vertices) for point in mesh.vertices[::3])
        assert farthest <= level.ball
        assert level.ball <= farthest + 0.3 * level.ball + 2e-6  # every third vertex was measured


@pytest.mark.parametrize("stretch", [(1.0, 1.0, 1.0), (1.0, 0.5, 6.0), (1.0, 1.0, 0.05)])
def test_core_lies_inside_the_hull(stretch):
    mesh = rounded(300, stretch)
    levels = hull_levels(mesh)
    along = levels.axes[:, 2] * levels.core
    for end in (along, -along, 0.3 * along):
        assert np.min(mesh.planes[:, 3] - mesh.planes[:, :3] @ end) >= levels.filled - 1e-12
    assert levels.filled > 0.0


def test_moved_mesh_has_the_moved_planes():
    mesh, offset = rounded(50), np.array([0.1, -0.2, 0.3])
    moved, built = mesh.moved(offset), ConvexMesh(mesh.vertices + offset)
    assert np.allclose(moved.vertices, mesh.vertices + offset)
    probe = np.random.default_rng(1).uniform(-0.2, 0.4, (200, 3))
    heights = [np.max(probe @ m.planes[:, :3].T - m.planes[:, 3], axis=1) for m in (moved, built)]
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-8)


@pytest.fixture(scope="module")
def slider(tmp_path_factory):
    """Two rounded links with 600 vertices, the second one moved freely along and about x, y, z."""
    folder = tmp_path_factory.mktemp("slider")
    meshes = [rounded(600, (1.0, 0.6, 3.0)), rounded(600, (0.5, 1.0, 2.0), seed=1)]
    for name, mesh in zip("ab", meshes):
        hull = ConvexHull(mesh.vertices)
        write_obj(str(folder / f"{name}.obj"), TriangleMesh(np.array(mesh.vertices), hull.simplices.astype(np.int64)))
    links = "".join(
        f'<link name="{name}"><collision><geometry><mesh filename="{name}.obj"/></geometry></collision></link>'
        for name in "ab"
    )
    names = ["a", *(f"l{i}" for i in range(5)), "b"]
    # Links without shapes would make the two adjacent: each has a tiny ball far away from all others.
    for number, name in enumerate(names[1:-1]):
        place = f'<origin xyz="{1.0 + 0.5 * number} 0 0"/>'
        ball = f'<collision>{place}<geometry><sphere radius="0.001"/></geometry></collision>'
        links += f'<link name="{name}">{ball}</link>'
    joints = ""
    for number, (parent, child) in enumerate(itertools.pairwise(names)):
        kind, most = ("prismatic", 0.5) if number < 3 else ("revolute", 3.1)
        axis = " ".join(str(int(number % 3 == i)) for i in range(3))
        joints += (
            f'<joint name="j{number}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<axis xyz="{axis}"/><limit lower="-{most}" upper="{most}" velocity="1" effort="1"/></joint>'
        )
    (folder / "slider.urdf").write_text(f'<robot name="slider">{links}{joints}</robot>')
    robot = Robot.from_urdf(folder / "slider.urdf")
    chain = robot.chain("a", "b")
    return RobotBody.build(robot, chain, keep=False), meshes


def test_gaps_of_fractions_of_a_millimetre_are_resolved(slider):
    body, meshes = slider
    checker, rng = Checker(body), np.random.default_rng(3)
    free_found, hit_found = [], []
    for _ in range(150):
        q = np.concatenate([np.zeros(3), rng.uniform(-3.0, 3.0, 3)])
        T = lie.pose(lie.exp_so3(np.array([q[3], 0, 0])) @ lie.exp_so3(np.array([0, q[4], 0]))
                     @ lie.exp_so3(np.array([0, 0, q[5]])))  # fmt: skip
        direction = rng.normal(size=3)
        T[:3, 3] = 0.6 * direction / np.linalg.norm(direction)
        apart = exact_distance(meshes[0], at(), meshes[1], T)
        # Along the line of the nearest points the distance shrinks as the way, so it can be set.
        for gap, found in ((1e-4, free_found), (-1e-5, hit_found)):
            T_near = T.copy()
            T_near[:3, 3] -= (apart.distance - gap) * apart.normal
            q[:3] = T_near[:3, 3]
            found.append(checker.collides(q))
    assert all(hit_found)
    assert not any(free_found)
