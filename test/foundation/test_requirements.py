"""package.xml, setup.py and the table of requirements cover every package that the code imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from manipapy_core import requirements
from manipapy_core.cli import doctor
from manipapy_core.requirements import ALWAYS, OPTIONAL, Requirement

OWN = {"manipapy_core", "manipapy_ros"}
PART_OF = {"mpl_toolkits": "matplotlib"}
FOLDERS = ("manipapy_core", "manipapy_ros", "launch")
TABLE = {item.module: item for item in (*ALWAYS, *OPTIONAL)}


@pytest.fixture(scope="module")
def imported(project) -> set[str]:
    """Modules of others that the source imports, also by `importlib.import_module`."""
    found = set()
    for path in (path for folder in FOLDERS for path in (project / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                name = node.args[0]
                if isinstance(name, ast.Constant):
                    found.add(name.value.split(".")[0])
    return {PART_OF.get(name, name) for name in found} - set(sys.stdlib_module_names) - OWN


@pytest.fixture(scope="module")
def package_xml(project) -> tuple[set[str], set[str]]:
    """Keys of rosdep and packages of pip."""
    root = ElementTree.parse(project / "package.xml").getroot()
    return {item.text for item in root.iter("exec_depend")}, {item.text for item in root.iter("pip")}


def on_jazzy(item) -> str:
    """Name on PyPI for the Python of ROS 2 Jazzy."""
    return "pybullet-arm64" if item.module == "pybullet" else item.package


def test_package_xml_covers_every_import(imported, package_xml):
    keys, pip = package_xml
    assert {"rclpy", "numba", "cv2", "action_msgs", "mujoco"} <= imported  # the reader works
    missing = []
    for module in sorted(imported):
        item = TABLE.get(module)
        covered = module in keys if item is None else item.rosdep in keys or on_jazzy(item) in pip
        if not covered:
            missing.append(module)
    assert not missing


def test_package_xml_names_nothing_that_is_not_needed(imported, package_xml):
    keys, pip = package_xml
    known = {item.rosdep for item in TABLE.values()} | {on_jazzy(item) for item in TABLE.values()}
    # shape_msgs is used through messages of moveit_msgs; rviz2 is started, not imported.
    assert not {key for key in keys | pip if key not in known and key not in imported} - {"shape_msgs", "rviz2"}


def test_pip_packages_of_package_xml_are_those_without_a_usable_rosdep_key(package_xml):
    _, pip = package_xml
    assert pip == {on_jazzy(item) for item in TABLE.values() if not item.rosdep} | {"numba"}


def test_table_agrees_with_setup_py(project):
    text = (project / "setup.py").read_text(encoding="utf-8")
    for item in TABLE.values():
        if item.module == "websockets":
            continue  # viser requires it
        match = re.search(rf'"{re.escape(item.package)}(\[\w+\])?>=([\d.]+)', text)
        assert match, item.package
        assert not item.minimum or match.group(2) == item.minimum, item.package
        if item.extra:
            assert item.extra in doctor.EXTRA_PURPOSES


def test_doctor_knows_every_message_package(imported, package_xml):
    keys, _ = package_xml
    messages = {name for name in keys if name.endswith(("_msgs", "_srvs", "_interfaces"))} - {"manipapy_msgs"}
    assert set(doctor.ROS_INTERFACES) == messages


def test_missing_and_old_packages_are_sentences_with_a_cure(monkeypatch):
    absent = Requirement("no_such_module", "no-such-package", "a test", rosdep="python3-nothing")
    old = Requirement("numpy", "numpy", "a test", rosdep="python3-numpy", minimum="999.0")
    monkeypatch.setattr(requirements, "ALWAYS", (absent, old))
    first, second = requirements.problems()
    assert "no-such-package is not installed" in first and "apt install python3-nothing" in first
    assert "is older than 999.0" in second and "pip install 'numpy>=999.0'" in second and "apt" not in second
    states = [finding.state for finding in doctor.examine() if finding.subject in ("no-such-package", "numpy")]
    assert states == [doctor.CheckState.PROBLEM] * 2


@pytest.mark.parametrize("missing", ["numba", "llvmlite", "numpy"])
def test_node_without_a_package_says_so_in_a_sentence(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['start', 'planner']\n"
    code += "import runpy; runpy.run_module('manipapy_ros.start', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{missing} is not installed" in done.stderr and "pip install" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("missing", "words"),
    [("numba", ["up", "--mode", "mock"]), ("typer", ["doctor"]), ("llvmlite", ["srdf", "ur5"])],
)
def test_command_without_a_package_says_so_in_a_sentence(missing, words):
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['manipapy', *{words!r}]\n"
    code += "from manipapy_core.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"manipapy: {missing} is not installed" in done.stderr and "pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_compiled_functions_need_no_scipy(project):
    """Numba compiles np.dot, np.linalg and @ only where scipy is installed, and ends with a traceback elsewhere."""
    found = []
    for path in (project / "manipapy_core").rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef) or "njit" not in map(_name, function.decorator_list):
                continue
            for node in ast.walk(function):
                by_operator = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
                if by_operator or (isinstance(node, ast.Attribute) and node.attr in ("dot", "vdot", "linalg")):
                    found.append(f"{path.name}:{node.lineno} in {function.name}")
    assert not found


def _name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def test_unknown_node_is_refused():
    done = subprocess.run([sys.executable, "-m", "manipapy_ros.start", "gripper"], capture_output=True, text=True)
    assert done.returncode == 2 and "usage" in done.stderr
