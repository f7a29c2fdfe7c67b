"""SDF and MJCF load like URDF, compute as MuJoCo and hand-written poses say, and come out as URDF."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from manipapy_core import dynamics, kinematics, lie
from manipapy_core.cli.app import app
from manipapy_core.errors import MeshNotFound, ModelError
from manipapy_core.geometry import RobotBody
from manipapy_core.model import Robot
from manipapy_core.model.elements import transform_from_xyz_rpy

MJCF = """<mujoco model="crane">
  <compiler angle="radian"/>
  <default><joint damping="0.5"/></default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0.1 0 0.3" quat="0.9 0.1 0.2 0.3">
      <geom type="box" size="0.1 0.1 0.1" mass="2"/>
      <body name="arm" pos="0 0 0.2" euler="0.3 0.2 0.1">
        <joint name="turn" type="hinge" axis="0 1 1" pos="0.05 0.02 0.1" ref="0.4" range="-2 2"
               actuatorfrcrange="-30 30"/>
        <joint name="lift" type="slide" axis="1 0 0" ref="0.1" range="-0.2 0.3"/>
        <geom type="capsule" size="0.04 0.2" pos="0 0 0.2" mass="1.5"/>
        <body name="hand" pos="0 0 0.5">
          <joint name="wrist" type="hinge" axis="0 0 1"/>
          <geom type="cylinder" size="0.03 0.05" pos="0.1 0 0" mass="0.4" rgba="1 0 0 1" contype="0" conaffinity="0"/>
          <geom type="ellipsoid" size="0.03 0.05 0.06" mass="0.1"/>
          <body name="finger" pos="0.1 0 0"><joint name="grip" type="slide" axis="0 1 0" range="0 0.05"/>
            <geom type="sphere" size="0.02" mass="0.05"/></body>
          <body name="other" pos="0.1 0.1 0"><joint name="follow" type="slide" axis="0 1 0" ref="0.01"/>
            <geom type="sphere" size="0.02" mass="0.05"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="follow" joint2="grip" polycoef="0.02 -1 0 0 0"/></equality>
</mujoco>"""
JOINTS = ("turn", "lift", "wrist", "grip")


def mujoco_data(q: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    for name, value in zip(JOINTS, q):
        data.joint(name).qpos = value
    # q_follow - 0.01 = 0.02 - (q_grip - 0)
    data.joint("follow").qpos = 0.03 - q[3]
    mujoco.mj_forward(model, data)
    return model, data


def test_mjcf_has_the_kinematics_and_mass_matrix_of_mujoco() -> None:
    robot = Robot.from_urdf(MJCF)
    assert robot.name == "crane"
    chain = robot.tree("world")
    assert chain.joint_names == JOINTS
    for q in np.random.default_rng(4).uniform(-0.9, 0.9, (5, 4)):
        model, data = mujoco_data(q)
        poses = dict(zip(chain.link_names, kinematics.link_poses(chain, q)))
        for name in ("base", "arm", "hand", "finger", "other"):
            np.testing.assert_allclose(poses[name][:3, 3], data.body(name).xpos, atol=1e-12)
            np.testing.assert_allclose(poses[name][:3, :3], data.body(name).xmat.reshape(3, 3), atol=1e-12)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        # The follower moves with the grip: M is that of the free joints, q̇ = B q̇_free.
        B = np.vstack([np.eye(4), [0.0, 0.0, 0.0, -1.0]])
        np.testing.assert_allclose(dynamics.mass_matrix(chain, q), B.T @ full @ B, atol=1e-10)


def test_mjcf_keeps_limits_shapes_and_damping() -> None:
    robot = Robot.from_urdf(MJCF)
    turn = robot.joints["turn"]
    assert (turn.lower, turn.upper, turn.effort, turn.damping) == (-2.0, 2.0, 30.0, 0.5)
    assert robot.links["arm"].collisions[0].geometry.length == 0.4
    assert len(robot.links["hand"].visuals) == 2
    assert len(robot.links["hand"].collisions) == 1
    assert robot.links["world"].collisions == ()
    assert "<robot" in robot.urdf


def test_free_body_of_mjcf_is_held() -> None:
    text = '<mujoco><worldbody><body name="dog"><freejoint name="free"/><geom size="0.1"/></body></worldbody></mujoco>'
    assert dict(Robot.from_urdf(text).held_joints) == {"free": "floating"}


def test_mjcf_mesh_lies_where_mujoco_has_it(tmp_path: Path) -> None:
    corners = np.array([[0.5, 0.1, 0.2], [0.8, 0.1, 0.2], [0.5, 0.3, 0.2], [0.5, 0.1, 0.3], [0.8, 0.3, 0.25]])
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4))
    (tmp_path / "part.obj").write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in corners)
        + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)
    )
    path = tmp_path / "robot.xml"
    path.write_text("""<mujoco><asset><mesh name="part" file="part.obj" scale="2 1 1"/></asset><worldbody>
        <body name="b"><geom type="mesh" mesh="part" pos="0.1 0.2 0.3" euler="10 20 30"/></body>
        </worldbody></mujoco>""")
    shape = Robot.from_urdf(path).links["b"].collisions[0]
    assert shape.geometry.filename == str(tmp_path / "part.obj")
    placed = corners * shape.geometry.scale @ shape.T_link_shape[:3, :3].T + shape.T_link_shape[:3, 3]
    model = mujoco.MjModel.from_xml_path(str(path))
    T = lie.pose(lie.rotation_from_quaternion(np.roll(model.geom_quat[0], -1)), model.geom_pos[0])
    theirs = model.mesh_vert @ T[:3, :3].T + T[:3, 3]
    np.testing.assert_allclose(sorted(placed.tolist()), sorted(theirs.tolist()), atol=1e-6)


WITH_MESH = """<mujoco><asset><mesh name="part" file="part.obj"/><texture name="t" type="2d" file="t.png"/>
    <material name="m" texture="t"/></asset><worldbody><body name="b">{inertial}<joint name="j" axis="0 1 0"/>
    <geom type="mesh" mesh="part" material="m" pos="0.1 0.2 0.3" euler="10 20 30"/></body></worldbody></mujoco>"""
INERTIAL = '<inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.2 0.15"/>'


def test_mjcf_does_without_a_missing_mesh_where_the_inertia_is_written(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(WITH_MESH.format(inertial=INERTIAL))
    robot = Robot.from_urdf(path)
    np.testing.assert_allclose(dynamics.mass_matrix(robot.tree("world"), [0.3]), [[0.2 + 2.0 * 0.1**2]])
    (shape,) = robot.links["b"].collisions
    np.testing.assert_allclose(shape.T_link_shape[:3, 3], [0.1, 0.2, 0.3])
    assert any("part.obj': file not found" in warning for warning in robot.warnings)
    # Without its mesh the link would be called free: that is refused.
    with pytest.raises(MeshNotFound, match=r"part\.obj"):
        RobotBody.build(robot, robot.tree("world"), keep=False)
    with pytest.raises(ModelError, match=r"part\.obj"):
        Robot.from_urdf(path, strict=True)


def test_mjcf_without_the_mesh_that_gives_a_mass_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(WITH_MESH.format(inertial=""))
    with pytest.raises(ModelError, match=r"part\.obj"):
        Robot.from_urdf(path)


def test_part_of_an_mjcf_model_says_that_it_has_no_links(tmp_path: Path) -> None:
    path = tmp_path / "actuators.xml"
    path.write_text('<mujoco><actuator><motor joint="elsewhere"/></actuator></mujoco>')
    with pytest.raises(ModelError, match="has no links"):
        Robot.from_urdf(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco><worldbody><body><geom/></body></worldbody></mujoco>", "MuJoCo refuses it"),
        ('<mujoco><include file="/etc/hostname"/></mujoco>', "outside the description's own tree"),
        ('<mujoco><asset><mesh name="m" file="../x.stl"/></asset></mujoco>', "outside the description's own tree"),
        ('<mujoco><compiler meshdir="/etc"/><asset><mesh file="passwd"/></asset></mujoco>', "outside the description"),
    ],
)
def test_bad_mjcf_is_refused_with_a_sentence(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(text)
    for source in (text, tmp_path / "robot.xml"):
        with pytest.raises(ModelError, match=words):
            Robot.from_urdf(source)


SDF = """<sdf version="1.9"><model name="arm">
  <frame name="mount"><pose>0 0 0.4 0 0 0.3</pose></frame>
  <link name="base"><pose>0.1 0 0 0 0 0</pose><inertial><mass>3</mass></inertial></link>
  <link name="upper"><pose relative_to="mount">0.2 0 0.1 0.1 0.2 0</pose>
    <inertial><pose>0 0 0.1 0 0 0</pose><mass>2</mass>
      <inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.01</izz><ixy>0.001</ixy></inertia></inertial>
    <collision name="c"><geometry><capsule><radius>0.05</radius><length>0.3</length></capsule></geometry></collision>
    <visual name="v"><pose degrees="true">0 0 0 0 0 90</pose><geometry><box><size>0.1 0.2 0.3</size></box></geometry>
      <material><diffuse>1 0 0 1</diffuse></material></visual></link>
  <link name="hand"><pose relative_to="elbow">0 0 0.3 0 0 0</pose><inertial><mass>1</mass></inertial></link>
  <joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><pose>0 0.1 -0.2 0 0 0.5</pose>
    <axis><xyz expressed_in="mount">0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>50</effort>
      <velocity>3</velocity></limit><dynamics><damping>0.7</damping></dynamics></axis></joint>
  <joint name="elbow" type="revolute"><parent>upper</parent><child>hand</child>
    <pose relative_to="upper">0 0 0.4 0 0 0</pose><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""


def test_sdf_has_the_poses_that_its_frames_say() -> None:
    robot = Robot.from_urdf(SDF)
    chain = robot.chain("world", "hand")
    assert chain.joint_names == ("shoulder", "elbow")
    mount = transform_from_xyz_rpy((0, 0, 0.4), (0, 0, 0.3))
    upper = mount @ transform_from_xyz_rpy((0.2, 0, 0.1), (0.1, 0.2, 0))
    shoulder = upper @ transform_from_xyz_rpy((0, 0.1, -0.2), (0, 0, 0.5))
    elbow = upper @ transform_from_xyz_rpy((0, 0, 0.4), (0, 0, 0))
    hand = elbow @ transform_from_xyz_rpy((0, 0, 0.3), (0, 0, 0))

    def turned(T: np.ndarray, point: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
        R = lie.exp_so3(axis * angle)
        return lie.pose(R, point - R @ point) @ T

    for q in np.random.default_rng(2).uniform(-1, 1, (5, 2)):
        expected = turned(hand, elbow[:3, 3], elbow[:3, 2], q[1])
        expected = turned(expected, shoulder[:3, 3], mount[:3, 1], q[0])
        np.testing.assert_allclose(kinematics.forward(chain, q), expected, atol=1e-12)


def test_sdf_keeps_inertia_limits_and_shapes() -> None:
    robot = Robot.from_urdf(SDF)
    upper = robot.links["upper"]
    assert upper.inertial.mass == 2.0
    np.testing.assert_allclose(upper.inertial.com, [0, 0, 0.1], atol=1e-15)
    np.testing.assert_allclose(upper.inertial.inertia, [[0.02, 0.001, 0], [0.001, 0.03, 0], [0, 0, 0.01]], atol=1e-15)
    shoulder = robot.joints["shoulder"]
    assert (shoulder.lower, shoulder.upper, shoulder.effort, shoulder.damping) == (-1.0, 2.0, 50.0, 0.7)
    assert robot.joints["elbow"].type.value == "continuous"
    assert len(upper.collisions) == 3
    assert upper.visuals[0].rgba == (1.0, 0.0, 0.0, 1.0)


def test_sdf_includes_and_nested_models(tmp_path: Path) -> None:
    (tmp_path / "gripper").mkdir()
    (tmp_path / "gripper" / "model.sdf").write_text(
        '<sdf version="1.9"><model name="gripper"><link name="palm"><pose>0 0 0.1 0 0 0</pose></link></model></sdf>'
    )
    path = tmp_path / "robot" / "model.sdf"
    path.parent.mkdir()
    path.write_text("""<sdf version="1.9"><model name="robot"><link name="base"/>
        <include><uri>model://gripper</uri><name>left</name><pose>1 0 0 0 0 0</pose></include>
        <model name="box"><pose>0 2 0 0 0 0</pose><link name="lid"/></model>
        <joint name="a" type="fixed"><parent>base</parent><child>left::palm</child></joint>
        <joint name="b" type="fixed"><parent>left::palm</parent><child>box::lid</child></joint></model></sdf>""")
    robot = Robot.from_urdf(path)
    assert list(robot.links) == ["box::lid", "left::palm", "base"]
    np.testing.assert_allclose(robot.joints["a"].T_parent_child[:3, 3], [1, 0, 0.1])
    np.testing.assert_allclose(robot.joints["b"].T_parent_child[:3, 3], [-1, 2, -0.1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("<mass>2</mass>", "<mass>-2</mass>"), "a mass cannot be negative"),
        (("<mass>2</mass>", "<mass>heavy</mass>"), "value is 'heavy'"),
        (("<parent>upper</parent>", "<parent>uper</parent>"), "parent 'uper' does not exist"),
        (('relative_to="mount"', 'relative_to="mont"'), "relative to 'mont', which cannot be resolved; did you mean"),
        (("<xyz>0 0 1</xyz>", "<xyz>0 0 0</xyz>"), "xyz has length 0"),
        (("<model name", '<model name="x"/><model name'), "holds 2 models"),
    ],
)
def test_bad_sdf_is_refused_with_its_line(change: tuple[str, str], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        Robot.from_urdf(SDF.replace(*change), strict=True)
    assert caught.value.problems[0].startswith("text:")


@pytest.mark.parametrize("text", [SDF, MJCF])
def test_convert_writes_a_urdf_with_the_same_kinematics(text: str, tmp_path: Path) -> None:
    (tmp_path / "robot.sdf").write_text(text)
    result = CliRunner().invoke(app, ["convert", str(tmp_path / "robot.sdf"), str(tmp_path / "robot.urdf")])
    assert result.exit_code == 0, result.output
    before, after = Robot.from_urdf(text), Robot.from_urdf(tmp_path / "robot.urdf", strict=True)
    q = np.linspace(-0.5, 0.5, len(before.free_joints))
    np.testing.assert_allclose(
        kinematics.forward(after.tree("world", "hand"), q),
        kinematics.forward(before.tree("world", "hand"), q),
        atol=1e-12,
    )
