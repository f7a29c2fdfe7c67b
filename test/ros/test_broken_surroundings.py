"""Read-only folders for log files, and cameras that repeat their last image."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from manipapy_ros.common.log_folder import log_folder, with_log_files
from manipapy_ros.perception.frozen import FrozenImages
from ros_arm import bring_up


def test_the_log_folder_is_that_of_rcl():
    assert str(log_folder({"ROS_LOG_DIR": "/a", "ROS_HOME": "/b"})) == "/a"
    assert str(log_folder({"ROS_HOME": "/b"})) == "/b/log"
    assert log_folder({}).parts[-2:] == (".ros", "log")


def test_log_files_are_left_out_where_they_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "new"))
    assert with_log_files(["node"]) == (["node"], "")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "file" / "log"))
    arguments, why = with_log_files(["node"])
    assert arguments == ["node", "--ros-args", "--disable-external-lib-logs"]
    assert str(tmp_path) in why and "no log files" in why


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders that nobody can write to")
def test_a_node_starts_without_a_folder_for_its_log_files(start, peer, tmp_path, monkeypatch):
    """Before, rcl ended it with an exception."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "file" / "log"))
    node = start("model_server", "-p", "robot:=ur5", namespace="/nowhere")
    bring_up(peer, node)
    assert "no log files are written" in node.printed


def test_a_repeated_image_is_a_problem_after_a_while():
    now = [0.0]
    frozen = FrozenImages(1.0, lambda: now[0])
    first, second = SimpleNamespace(data=b"abc"), SimpleNamespace(data=b"abd")
    assert not frozen.problem(first)
    now[0] = 0.9
    assert not frozen.problem(first)
    now[0] = 1.1
    assert "same image for 1.1 s" in frozen.problem(first)
    assert not frozen.problem(second), "a new image"
    now[0] = 2.0
    assert not frozen.problem(second)
    endless = FrozenImages(float("inf"), lambda: now[0])
    assert not endless.problem(first)
    now[0] = 1e6
    assert not endless.problem(first), "a simulated scene may stand still"
