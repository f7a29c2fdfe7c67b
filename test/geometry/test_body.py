"""Building a body: meshes, the file on disk, broken files, limits of what can be reported."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, configurations, table_world
from manipapy_core import Robot
from manipapy_core.compiler import cache
from manipapy_core.errors import InputError, MissingPackage
from manipapy_core.geometry import Checker, ConvexMesh, RobotBody

MESH_ARM = """
<robot name="mesh_arm">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="lower">
    <collision><origin xyz="0 0 0.25"/><geometry><mesh filename="bar.stl"/></geometry></collision>
  </link>
  <link name="upper">
    <collision><geometry><mesh filename="bar.stl" scale="0.8 0.8 0.8"/></geometry></collision>
  </link>
  <link name="hand">
    <collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.06"/></geometry></collision>
  </link>
  <joint name="a" type="continuous">
    <parent link="base"/><child link="lower"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="revolute">
    <parent link="lower"/><child link="upper"/><origin xyz="0 0 0.55"/><axis xyz="0 1 0"/>
    <limit lower="-2.8" upper="2.8" velocity="1" effort="1"/>
  </joint>
  <joint name="c" type="revolute">
    <parent link="upper"/><child link="hand"/><origin xyz="0 0 0.25"/><axis xyz="0 1 0"/>
    <limit lower="-2.8" upper="2.8" velocity="1" effort="1"/>
  </joint>
</robot>
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own."""
    cache_folder = tmp_path / "cache"
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(cache_folder))
    return cache_folder


@pytest.fixture
def mesh_arm(tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="mesh files are read by trimesh, an optional package")
    bar = trimesh.creation.cylinder(radius=0.05, height=0.5, sections=64)
    bar.export(tmp_path / "bar.stl")
    (tmp_path / "arm.urdf").write_text(MESH_ARM)
    return Robot.from_urdf(tmp_path / "arm.urdf")


def test_meshes_are_covered_by_their_hulls(mesh_arm, folder):
    chain = mesh_arm.chain("base", "hand")
    body = RobotBody.build(mesh_arm, chain)
    bar = next(group for group in body.groups if group.name == "lower")
    assert isinstance(bar.parts[0].shape, ConvexMesh)
    checker = Checker(body)
    assert not checker.collides([0.0, 0.0, 0.0])
    # Folded back, the hand lies against the lower bar.
    assert checker.collides([0.0, 2.8, 2.6])


def test_decimated_mesh_misses_no_collision(mesh_arm, folder):
    from manipapy_core.geometry.exact import ExactChecker

    body = RobotBody.build(mesh_arm, mesh_arm.chain("base", "hand"), overshoot=0.03)
    q = np.random.default_rng(0).uniform([-3, -2.8, -2.8], [3, 2.8, 2.8], (400, 3))
    reported = Checker(body, table_world()).check(q)
    exact = ExactChecker(body, table_world())
    true = np.array([exact.collides(row) for row in q])
    assert true.any() and not true.all()
    assert not np.any(true & ~reported)


def test_broken_mesh_is_reported(mesh_arm, tmp_path, folder):
    (tmp_path / "bar.stl").write_bytes(b"solid nonsense")
    with pytest.raises(InputError, match=r"bar\.stl"):
        RobotBody.build(mesh_arm, mesh_arm.chain("base", "hand"))


def test_missing_package_is_named_with_its_extra():
    error = MissingPackage("coal", "an exact distance", "collision")
    assert "manipapy[collision]" in str(error) and isinstance(error, ImportError)


def test_cached_body_equals_the_built_one(folder):
    robot = Robot.from_urdf("gen3")
    chain = robot.chain("base_link", "bracelet_link")
    first = RobotBody.build(robot, chain, overshoot=0.05)
    (stored,) = folder.glob("body-*.geometry")
    again = RobotBody.build(robot, chain, overshoot=0.05)
    assert first.pairs == again.pairs
    assert all(np.array_equal(a.spheres, b.spheres) for a, b in zip(first.groups, again.groups))
    assert first.ignored == again.ignored
    stored.write_bytes(stored.read_bytes()[:-7] + b"garbage")
    healed = RobotBody.build(robot, chain, overshoot=0.05)
    assert all(np.array_equal(a.spheres, b.spheres) for a, b in zip(first.groups, healed.groups))


def test_ignored_pairs_have_reasons():
    _, _, body = arm("panda")
    assert body.ignored[frozenset({"panda_link1", "panda_link2"})] == "adjacent"
    assert body.ignored[frozenset({"panda_link0", "panda_link2"})] == "never in contact"
    checked = {frozenset({body.groups[pair.first].name, body.groups[pair.second].name}) for pair in body.pairs}
    assert frozenset({"panda_hand", "panda_link0"}) in checked
    assert not checked & set(body.ignored)


def test_home_poses_are_free():
    for name, home in {
        "ur5": [0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0],
        "ur10e": [0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0],
        "panda": [0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4],
        "iiwa14": [0, 0.5, 0, -1.4, 0, 1.2, 0],
        "xarm6": [0, -0.4, -1.2, 0, 1.5, 0],
        "gen3": [0, 0.26, np.pi, -2.27, 0, 0.96, np.pi / 2],
    }.items():
        assert not Checker(arm(name)[2]).collides(home), name


def test_distant_object_changes_no_result():
    from manipapy_core.geometry import Box, World

    _, chain, body = arm("ur5")
    world = World()
    T = np.eye(4)
    T[:3, 3] = 5.0, 5.0, 5.0
    world.add("far", Box([1, 1, 1]), T)
    q = configurations(chain, 500)
    assert np.array_equal(Checker(body, world).check(q), Checker(body).check(q))


GRIPPER = """
<robot name="gripper">
  <link name="palm"><collision><geometry><box size="0.05 0.2 0.05"/></geometry></collision></link>
  <link name="left"><collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision></link>
  <link name="right"><collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision></link>
  <joint name="opening" type="prismatic">
    <parent link="palm"/><child link="left"/><origin xyz="0 0.009 0.06"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="{opening}" velocity="1" effort="1"/>
  </joint>
  <joint name="follower" type="prismatic">
    <parent link="palm"/><child link="right"/><origin xyz="0 -0.009 0.06"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="{opening}" velocity="1" effort="1"/><mimic joint="opening"/>
  </joint>
</robot>
"""


@pytest.mark.parametrize("opening", [0.005, 0.03, 0.2, 0.37], ids=["1 cell", "2 cells", "10 cells", "19 cells"])
def test_fingers_that_close_on_each_other_are_checked(opening):
    """Joints with a short way give proofs of few configurations: none of them may be left out."""
    robot = Robot.from_urdf(GRIPPER.format(opening=opening))
    chain = robot.chain("palm", "left")
    body = RobotBody.build(robot, chain, keep=False)
    assert frozenset({"left", "right"}) not in body.ignored, body.describe()
    checker = Checker(body)
    assert checker.collides([0.0]), "the fingers overlap by 2 mm"
    assert not checker.collides([0.002])
