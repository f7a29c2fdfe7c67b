"""The kernel cache: whatever happens to its files, the answer is right."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from manipapy_core.compiler import cache
from manipapy_core.compiler.kernels import compiled
from manipapy_core.compiler.llvm import engine
from manipapy_core.compiler.trace import Input, Signature, trace

SIGNATURE = Signature("doubled", (Input("x", (2,)),), (2,))


def doubled():
    return compiled(SIGNATURE, "", lambda: trace(SIGNATURE, lambda x: [x[0] + x[0], x[1] + x[1]]))


def check(function) -> None:
    np.testing.assert_array_equal(function.run(np.array([[1.0, 2.0]] * 9)), [[2.0, 4.0]] * 9)


def never():
    raise AssertionError("compiled although a good copy is in the cache")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_a_kernel_is_compiled_once_and_then_read(folder):
    check(doubled())
    check(compiled(SIGNATURE, "", never))
    assert only_file(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["truncated", "emptied", "one bit", "other magic", "directory"])
def test_a_damaged_file_is_compiled_again(folder, damage):
    check(doubled())
    path = only_file(folder)
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "one bit":
        content[-100] ^= 1
        path.write_bytes(content)
    elif damage == "other magic":
        path.write_bytes(b"other" + content[5:])
    else:
        path.unlink()
        path.mkdir()
    if damage == "directory":
        with pytest.warns(RuntimeWarning, match="not kept"):
            check(doubled())
    else:
        check(doubled())
        check(compiled(SIGNATURE, "", never))


def test_another_cpu_or_version_gets_code_of_its_own(folder):
    here = cache.name_for("doubled", "", "float64", engine.machine())
    elsewhere = cache.name_for("doubled", "", "float64", engine.machine().replace("+", "-", 1))
    assert here != elsewhere
    check(doubled())
    assert only_file(folder).name == here


def test_a_folder_open_to_others_is_not_trusted(folder):
    check(doubled())
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert cache.read(only_file(folder).name) is None


def test_a_folder_that_cannot_be_made_costs_only_a_warning(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv(cache.VARIABLE, str(blocker / "kernels"))
    with pytest.warns(RuntimeWarning, match=cache.VARIABLE):
        check(doubled())


def test_many_processes_at_once_agree_and_leave_no_debris(folder):
    program = textwrap.dedent(
        """
        import numpy as np
        from manipapy_core import Robot, dynamics
        chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
        q = np.linspace(-1, 1, 6)
        print(dynamics.inverse_dynamics(chain, q, q, q).tobytes().hex())
        """
    )
    environment = {**os.environ, cache.VARIABLE: str(folder)}
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=120)[0] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(answers) == 1
    assert [path.suffix for path in folder.iterdir()] == [".kernel"]
