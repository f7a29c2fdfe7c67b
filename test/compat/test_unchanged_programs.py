"""Programs that import ManipulaPy by its own name, unchanged."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap

import pytest

import manipapy_core.compat as ManipulaPy
from manipapy_core.compat import alias
from manipapy_core.errors import InputError

PROGRAM = """
import sys
import ManipulaPy
import ManipulaPy.kinematics
import ManipulaPy.ManipulaPy_data.xarm as xarm
from ManipulaPy import urdf_processor, utils
from ManipulaPy.ManipulaPy_data import get_robot_urdf
from ManipulaPy.control import ManipulatorController
from ManipulaPy.path_planning import OptimizedTrajectoryPlanning
from ManipulaPy.urdf import URDF
import numpy as np

robot = URDF.load(get_robot_urdf("ur5"))
serial, dynamics = robot.to_serial_manipulator(), robot.to_manipulator_dynamics()
assert isinstance(serial, ManipulaPy.kinematics.SerialManipulator)
q = np.array([0.1, 0.2, -0.3, -0.5, 0.2, 0.1])
T = serial.forward_kinematics(q)
planner = OptimizedTrajectoryPlanning(serial, get_robot_urdf("ur5"), dynamics, joint_limits=[(-np.pi, np.pi)] * 6)
found = planner.joint_trajectory(thetastart=np.zeros(6), thetaend=q, Tf=5.0, N=1000, method=5)
theta, ok, _, name = serial.robust_inverse_kinematics(T, max_attempts=10)
controller = ManipulatorController(dynamics)
Kp, Ki, Kd = controller.ziegler_nichols_tuning(Ku=120.0, Tu=0.65, kind="PID")
assert ok and xarm.urdf_file.endswith("xarm6.urdf")
assert np.allclose(utils.TransToRp(T)[1], serial.end_effector_pose(q)[:3])
print(ManipulaPy.__version__, found["positions"].shape, sys.argv[1:])
"""


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def test_a_program_runs_unchanged(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "neighbour.py").write_text("")
    done = run("-m", "manipapy_core.compat", str(program), "one", "two")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1.4.2 (1000, 6) ['one', 'two']\n"
    assert "usage" in run("-m", "manipapy_core.compat").stderr


def test_one_module_has_both_names():
    try:
        alias.install()
        alias.install()
        import ManipulaPy.dynamics as theirs
        from ManipulaPy.ManipulaPy_data import ur5

        import manipapy_core.compat.dynamics as ours

        assert theirs is ours and ours.__name__ == "manipapy_core.compat.dynamics"
        assert ours.__spec__.name == "manipapy_core.compat.dynamics"
        assert ur5.urdf_file.endswith("ur5.urdf")
        with pytest.raises(ImportError, match="nothing"):
            importlib.import_module("ManipulaPy.nothing")
    finally:
        alias.uninstall()
    assert not [name for name in sys.modules if name.split(".")[0] == "ManipulaPy"]
    with pytest.raises(ImportError):
        importlib.import_module("ManipulaPy.dynamics")


def test_an_installed_manipulapy_is_replaced_only_on_request(tmp_path):
    (tmp_path / "ManipulaPy").mkdir()
    (tmp_path / "ManipulaPy" / "__init__.py").write_text("mine = True")
    code = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from manipapy_core.compat import install
        try:
            install()
        except ValueError as error:
            print(error)
        import ManipulaPy
        assert ManipulaPy.mine
        install(replace=True)
        import ManipulaPy.utils
        print(ManipulaPy.utils.NearZero(0.0))
    """)
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert "replace=True" in done.stdout and done.stdout.endswith("True\n")


def test_submodules_and_classes_are_attributes_of_the_alias():
    assert ManipulaPy.kinematics.SerialManipulator is ManipulaPy.SerialManipulator
    assert ManipulaPy.ManipulaPy_data.list_robots()
    for name in ManipulaPy.__all__:
        assert getattr(ManipulaPy, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'wheels'"):
        ManipulaPy.wheels  # noqa: B018


def test_features_name_the_command_that_installs_them(capsys):
    found = ManipulaPy.check_dependencies()
    assert found["core"] and set(found) == {*ManipulaPy.get_available_features(), *ManipulaPy.get_missing_features()}
    assert len(capsys.readouterr().out.splitlines()) == len(found)
    assert ManipulaPy.get_installation_command("simulation") == "pip install 'manipapy[sim]'"
    ManipulaPy.require_feature("core")
    with pytest.raises(InputError, match="no feature 'wings'"):
        ManipulaPy.require_feature("wings")


def test_the_catalogue_agrees_with_the_descriptions():
    from manipapy_core import Robot
    from manipapy_core.compat import ManipulaPy_data as data
    from manipapy_core.compat.arm import serial_arm
    from manipapy_core.model import bundled_robots

    assert sorted(data.list_robots()) == sorted(set(bundled_robots()) - {"dual_ur5e", "mobile_ur5e", "scara"})
    for name in data.list_robots():
        info = data.get_robot_info(name)
        chain = serial_arm(Robot.from_urdf(info["urdf"]))
        assert info["dof"] == chain.n
        # Upper bound of the distance between the first joint and the tip: the sum of the links.
        spans = [abs(body.T_parent_body[:3, 3]).max() for body in chain.bodies[1:]]
        assert 0.4 < info["reach"] < 2.0 * sum(spans) + 1.0
        assert name in data.get_robots_by_dof(chain.n) and name in data.list_robots(info["manufacturer"])
    with pytest.raises(ValueError, match="there are: fr3, gen3"):
        data.get_robot_urdf("hal9000")
