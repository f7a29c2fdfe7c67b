"""The robot in the physics engine agrees with the model: joints, links, masses, meshes."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError, MeshNotFound, UnknownJoint, UnknownLink
from manipapy_core.model import SphereGeometry
from manipapy_core.sim import NameTaken, NotSimulable, SceneObject, SimRobot, Simulator, SimWorld
from reference import urdf_writing as urdf
from sim.arms import ALL, arm, inside

pytestmark = pytest.mark.usefixtures("simulator")

CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def world():
    with SimWorld() as world:
        yield world


@pytest.mark.parametrize("name", ALL)
def test_link_poses_agree_with_kinematics(world, name):
    robot = world.add_robot(arm(name))
    for seed in range(3):
        robot.reset(inside(name, seed))
        ours = dict(zip(robot.chain.link_names, kinematics.link_poses(robot.chain, robot.state().q)))
        theirs = robot.link_poses()
        assert theirs.keys() == ours.keys()
        for link, T in ours.items():
            np.testing.assert_allclose(theirs[link], T, rtol=0.0, atol=1e-6, err_msg=link)


def test_shapes_without_size_are_left_out(world):
    """As MATLAB's Kinova arms have them on their root."""
    empty = "".join(
        f"<{tag}><geometry>{shape}</geometry></{tag}>"
        for tag in ("visual", "collision")
        for shape in ('<box size="0 0 0"/>', '<cylinder radius="0" length="1"/>', '<sphere radius="0"/>')
    )
    robot = Robot.from_urdf(
        f"""<robot name="arm"><link name="root">{empty}</link>
        <link name="bar"><inertial><mass value="1"/>
          <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
          <collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision>{empty}</link>
        <joint name="turn" type="continuous"><parent link="root"/><child link="bar"/><axis xyz="0 1 0"/></joint>
        </robot>"""
    )
    added = world.add_robot(robot, q=[0.3])
    world.step()
    assert np.isfinite(added.state().q).all()


def test_base_at_any_pose(world):
    T = np.array([[0.0, -1.0, 0.0, 0.5], [1.0, 0.0, 0.0, -0.2], [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
    robot = world.add_robot(arm("ur5"), T_world_base=T, q=inside("ur5", 1))
    expected = T @ kinematics.forward(arm("ur5").chain("base_link", "tool0"), robot.state().q)
    np.testing.assert_allclose(robot.link_pose("tool0"), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_masses_agree_and_massless_links_stay_massless(world, name):
    robot = world.add_robot(arm(name))
    for link, mass in masses(world, robot).items():
        inertial = arm(name).links[link].inertial
        assert mass == pytest.approx(0.0 if inertial is None else inertial.mass, abs=1e-11), link


def masses(world: SimWorld, robot: SimRobot) -> dict[str, float]:
    """Mass of every link but the root, as the engine has it."""
    engine, links = world._engine, [link for link in robot.robot.links if link != robot.robot.root]
    if world.simulator is Simulator.MUJOCO:
        return {link: float(engine.model.body(f"robot {robot.name}/{link}").mass[0]) for link in links}
    index = robot._body._link_index
    return {link: engine.client.getDynamicsInfo(robot._body.id, index[link])[0] for link in links}


def test_meshes_are_found_through_package_references(world, tmp_path):
    (tmp_path / "my_arm/meshes").mkdir(parents=True)
    (tmp_path / "my_arm/meshes/hand.obj").write_text(CUBE)
    hand = urdf.link("hand", 1.0).replace(
        "</link>",
        '<collision><geometry><mesh filename="package://my_arm/meshes/hand.obj" scale="0.1 0.1 0.1"/></geometry>'
        "</collision></link>",
    )
    wrist = urdf.joint("wrist", "revolute", "base", "hand", axis=(0, 0, 1))
    text = urdf.robot("meshed", urdf.link("base"), hand, wrist)
    robot = world.add_robot(Robot.from_urdf(text, package_paths=[tmp_path]))
    world.spawn(SceneObject("ball", SphereGeometry(0.02)))
    world.step()
    assert {(contact.link, contact.other) for contact in robot.contacts()} == {("hand", "ball")}

    unresolved = Robot.from_urdf(text, check_meshes=False)
    with pytest.raises(MeshNotFound, match="package_paths"):
        world.add_robot(unresolved, name="unresolved")


def test_joint_without_mass_is_refused_by_name(world):
    wrist = urdf.joint("wrist", "continuous", "base", "hand", axis=(0, 0, 1))
    text = urdf.robot("light", urdf.link("base"), urdf.link("hand"), wrist)
    with pytest.raises(NotSimulable, match="wrist"):
        world.add_robot(Robot.from_urdf(text))


def test_positions_by_name_and_invalid_positions(world):
    robot = world.add_robot(arm("panda"))
    robot.reset({"panda_joint4": -1.5})
    assert robot.state().q[robot.joint_names.index("panda_joint4")] == -1.5
    with pytest.raises(UnknownJoint, match="elbow"):
        robot.reset({"elbow": 1.0})
    with pytest.raises(InputError, match="limits"):
        robot.reset({"panda_joint4": 1.0})
    with pytest.raises(InputError, match="q"):
        robot.reset([0.0, 0.0])
    with pytest.raises(InputError, match="finite"):
        robot.reset([np.nan] * 8)
    with pytest.raises(UnknownLink, match="panda_link7"):
        robot.link_pose("hand")
    with pytest.raises(NameTaken, match="panda"):
        world.add_robot(arm("panda"))
    with pytest.raises(InputError, match="T_world_base"):
        world.add_robot(arm("ur5"), T_world_base=2.0 * np.eye(4))


def test_mimic_joints_are_reported_on_request(world):
    robot = world.add_robot(arm("panda"), q={"panda_finger_joint1": 0.03})
    assert "panda_finger_joint2" not in robot.state().names
    everything = robot.state(mimic=True)
    assert everything.q[everything.names.index("panda_finger_joint2")] == 0.03
