"""Temporary folders of the simulation are deleted, also those of processes that were killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from manipapy_core.sim import temporary_folder
from manipapy_core.sim.temporary_folder import TemporaryFolder, remove_abandoned


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(temporary_folder.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def other_process(code: str) -> subprocess.Popen[str]:
    code = f"from manipapy_core.sim.temporary_folder import TemporaryFolder\nfolder = TemporaryFolder()\n{code}"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)


def test_folder_is_deleted_when_closed_and_when_forgotten(temporary):
    folder = TemporaryFolder()
    (Path(folder.path) / "mesh.obj").write_text("v 0 0 0")
    folder.close()
    folder.close()
    with TemporaryFolder() as path:
        assert Path(path).is_dir()
    forgotten = [TemporaryFolder()]
    with pytest.warns(ResourceWarning):
        forgotten.clear()
    assert list(temporary.iterdir()) == []


def test_folder_is_deleted_when_a_process_ends(temporary):
    process = other_process("print(folder.path)")
    path, _ = process.communicate()
    assert path and process.returncode == 0
    assert list(temporary.iterdir()) == []


def test_folder_of_a_killed_process_is_deleted_by_the_next_and_that_of_a_running_one_is_not(temporary):
    running, killed = (other_process("print(folder.path, flush=True)\ninput()") for _ in range(2))
    kept, left = (Path(process.stdout.readline().strip()) for process in (running, killed))
    killed.kill()
    killed.wait()
    assert kept.is_dir() and left.is_dir()
    with TemporaryFolder() as path:
        assert not left.exists()
        assert set(temporary.iterdir()) == {kept, Path(path)}
    running.communicate("")
    assert list(temporary.iterdir()) == []


def test_folder_without_a_lock_file_is_left_alone(temporary):
    # Another process is just creating it, or the file system has no locks.
    other = temporary / f"{temporary_folder.PREFIX}other"
    other.mkdir()
    (other / "new.lock").touch()
    assert remove_abandoned() == 0
    assert other.is_dir()
