"""Convex parts of meshes: every triangle is covered, free space is not, and real self-collisions are found."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot
from manipapy_core.geometry import Checker, RobotBody, World
from manipapy_core.geometry.decomposition import FINE_TOLERANCE, MOST_FINE_PARTS, TOLERANCE, decompose
from manipapy_core.geometry.exact import ExactLinks
from manipapy_core.geometry.free_space import COARSE, FINE, free_cells
from manipapy_core.geometry.pairs import ALWAYS_TOUCHING, NEVER_TOUCHING
from manipapy_core.model.meshes import TriangleMesh, write_obj

FACES = [(0, 2, 1), (0, 3, 2), (4, 5, 6), (4, 6, 7), (0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6),
         (3, 0, 4), (3, 4, 7)]  # fmt: skip
BRACKET = [((-0.15, 0.15), (-0.04, 0.04), (0.0, 0.03)), ((-0.15, -0.11), (-0.04, 0.04), (0.0, 0.2)),
           ((0.11, 0.15), (-0.04, 0.04), (0.0, 0.2))]  # fmt: skip
"""A fork with two prongs: its hull fills the gap between them."""


def boxes(extents) -> TriangleMesh:
    """The surfaces of boxes in one mesh, one beside the other or overlapping."""
    points, faces = [], []
    for x, y, z in extents:
        corners = [(x[i], y[j], z[k]) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        faces += [[index + len(points) for index in face] for face in FACES]
        points += corners
    return TriangleMesh(np.array(points), np.array(faces))


def ball(radius: float, count: int) -> TriangleMesh:
    from scipy.spatial import ConvexHull

    points = np.random.default_rng(0).normal(size=(count, 3))
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return TriangleMesh(points, ConvexHull(points).simplices.astype(np.int64))


def surface_points(mesh: TriangleMesh) -> np.ndarray:
    shares = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], (len(mesh.triangles), 20))
    return np.concatenate(
        [(shares[..., None] * mesh.points[mesh.triangles][:, None]).sum(axis=2).reshape(-1, 3), mesh.points]
    )


def outside(parts, points) -> np.ndarray:
    """Distance of points to the nearest part, by its planes."""
    return np.min([np.max(points @ part.planes[:, :3].T - part.planes[:, 3], axis=1) for part in parts], axis=0)


MESHES = {
    "fork": boxes(BRACKET),
    "fork with a hole": TriangleMesh(boxes(BRACKET).points, boxes(BRACKET).triangles[3:]),
    "two separate boxes": boxes([BRACKET[1], BRACKET[2]]),
    "ball": ball(0.08, 400),
}


@pytest.mark.parametrize("name", MESHES)
def test_every_triangle_is_covered(name):
    mesh = MESHES[name]
    assert outside(decompose(mesh), surface_points(mesh)).max() < 1e-7


@pytest.mark.parametrize("name", ["fork", "two separate boxes", "ball"])
def test_parts_stay_out_of_free_space(name):
    mesh = MESHES[name]
    cells, depths = free_cells(mesh.points[mesh.triangles])
    taken = depths[outside(decompose(mesh), cells) <= 0.0]
    assert taken.max(initial=0.0) <= TOLERANCE + COARSE.smallest


def test_fine_parts_cover_and_follow_a_narrow_groove():
    """A plate with a groove 3 mm deep, which coarse parts fill."""
    groove = boxes([((-0.1, 0.1), (-0.05, 0.05), (0.0, 0.01)), ((-0.1, -0.02), (-0.05, 0.05), (0.01, 0.013)),
                    ((0.02, 0.1), (-0.05, 0.05), (0.01, 0.013))])  # fmt: skip
    parts = decompose(groove, tolerance=FINE_TOLERANCE, most_parts=MOST_FINE_PARTS, grid=FINE)
    assert outside(parts, surface_points(groove)).max() < 1e-7
    assert outside(parts, np.array([[0.0, 0.0, 0.0118]])).min() > 0.0
    assert outside(decompose(groove), np.array([[0.0, 0.0, 0.0118]])).min() < 0.0


def test_convex_mesh_stays_one_part():
    assert len(decompose(MESHES["ball"])) == 1


def test_gap_between_the_prongs_of_a_fork_is_free():
    between = np.array([[0.0, 0.0, 0.12], [0.05, 0.02, 0.15], [-0.08, 0.0, 0.1]])
    assert outside(decompose(MESHES["fork"]), between).min() > 0.005


def test_flat_mesh_gets_a_volume():
    sheet = TriangleMesh(
        np.array([[0.0, 0, 0], [0.2, 0, 0], [0.2, 0.1, 0], [0, 0.1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])
    )
    (part,) = decompose(sheet)
    assert np.ptp(part.vertices[:, 2]) < 1e-3
    assert outside([part], surface_points(sheet)).max() < 1e-7


URDF = """<robot name="fork">
  <link name="base"><collision><geometry><mesh filename="fork.obj"/></geometry></collision></link>
  <link name="hub"><collision><origin xyz="0 0 0"/><geometry><sphere radius="0.005"/></geometry></collision></link>
  <link name="bar"><collision><origin xyz="0 0 -0.06"/>
    <geometry><mesh filename="bar.obj"/></geometry></collision></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="hub"/><origin xyz="0 0 0.14"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <joint name="swing" type="revolute"><parent link="hub"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
</robot>"""
"""A bar that swings between the prongs of a fork: the hull of the fork always holds its bearing."""


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fork")
    write_obj(str(folder / "fork.obj"), boxes(BRACKET))
    write_obj(
        str(folder / "bar.obj"),
        boxes([((-0.01, 0.01), (-0.01, 0.01), (-0.06, 0.06)), ((-0.04, 0.04), (-0.01, 0.01), (-0.06, -0.04))]),
    )
    (folder / "fork.urdf").write_text(URDF)
    robot = Robot.from_urdf(folder / "fork.urdf")
    chain = robot.chain("base", "bar")
    return robot, chain, RobotBody.build(robot, chain, keep=False)


def test_pair_whose_hulls_always_overlap_is_still_checked(fork):
    _, _, body = fork
    checked = {frozenset({body.groups[pair.first].name, body.groups[pair.second].name}) for pair in body.pairs}
    assert frozenset({"base", "bar"}) in checked


def test_self_collisions_of_concave_links_agree_with_the_exact_meshes(fork):
    robot, chain, body = fork
    q = np.random.default_rng(2).uniform(*chain.limits.sampling_range, (2000, chain.n))
    exact = ExactLinks(robot, chain)
    truth = np.array([exact.touch("base", "bar", row) for row in q])
    found = Checker(body, World()).check(q)
    assert 100 < truth.sum() < 1900
    assert not (truth & ~found).any(), "a real collision was missed"
    # Three of five configurations of this small mechanism collide, and many others are within a few millimetres.
    assert (found & ~truth).sum() <= 0.05 * (~truth).sum()


def test_links_that_are_always_in_contact_are_listed():
    text = URDF.replace('<mesh filename="fork.obj"/>', '<sphere radius="0.3"/>').replace(
        '<mesh filename="bar.obj"/>', '<sphere radius="0.05"/>'
    )
    robot = Robot.from_urdf(text)
    body = RobotBody.build(robot, robot.chain("base", "bar"), keep=False)
    assert body.ignored[frozenset({"base", "bar"})] == ALWAYS_TOUCHING
    assert "always in contact" in body.describe()


def test_links_that_never_meet_are_listed():
    text = URDF.replace('<mesh filename="fork.obj"/>', '<sphere radius="0.05"/>').replace(
        '<mesh filename="bar.obj"/>', '<sphere radius="0.005"/>'
    )
    robot = Robot.from_urdf(text)
    body = RobotBody.build(robot, robot.chain("base", "bar"), keep=False)
    assert body.ignored[frozenset({"base", "bar"})] == NEVER_TOUCHING


def test_contact_between_the_points_of_a_coarse_sample_is_not_ruled_out():
    """The bar touches the post in a sliver of its range only: what is not proved impossible is checked."""
    text = URDF.replace('<mesh filename="fork.obj"/>', '<sphere radius="0.085"/>').replace(
        '<mesh filename="bar.obj"/>', '<sphere radius="0.0001"/>'
    )
    robot = Robot.from_urdf(text)
    body = RobotBody.build(robot, robot.chain("base", "bar"), keep=False)
    assert frozenset({"base", "bar"}) not in body.ignored


def test_robot_without_collision_shapes_warns():
    robot = Robot.from_urdf(
        '<robot name="bare"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    with pytest.warns(RuntimeWarning, match="no collision shapes"):
        RobotBody.build(robot, robot.chain("a", "b"), keep=False)
