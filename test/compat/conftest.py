"""A robot file in the current folder, as ManipulaPy's documents expect it, and a skip without PyBullet."""

from __future__ import annotations

import importlib.util

import pytest

from reference.cases import BUNDLED


@pytest.fixture
def robot_file(tmp_path, monkeypatch) -> None:
    """`robot.urdf` in the current folder, a UR5."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.urdf").write_text(BUNDLED["ur5"].text, encoding="utf-8")


@pytest.fixture
def pybullet() -> None:
    """The documents' default reads joint limits with PyBullet, which has no wheel from Python 3.12 on."""
    if importlib.util.find_spec("pybullet") is None:
        pytest.skip("PyBullet is not installed (extra: sim)")
