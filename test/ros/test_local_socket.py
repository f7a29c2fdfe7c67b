"""The socket through which commands of the same user ask a running supervisor."""

from __future__ import annotations

import json
import os
import socket

import pytest

from manipapy_core.errors import ManipapyError
from manipapy_ros import quick
from manipapy_ros.bringup.local_socket import LocalSocket, RefusedLocally, ask, socket_path


class Refusal(ManipapyError):
    pass


def refuse() -> str:
    raise Refusal("the arm is stopped by its guard")


HANDLERS = {"hold": lambda: "held", "state": lambda: {"position": [1.0, 2.0]}, "reset": refuse}


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    return tmp_path


def test_commands_are_answered_in_their_namespace_and_domain_only(monkeypatch, runtime):
    with LocalSocket("/left", HANDLERS):
        assert ask("left", "hold") == "held"
        assert ask("/left/", "state") == {"position": [1.0, 2.0]}
        assert ask("right", "hold") is None
        assert ask("left", "dance") is None
        with pytest.raises(RefusedLocally, match="stopped by its guard"):
            ask("left", "reset")
        monkeypatch.setenv("ROS_DOMAIN_ID", "8")
        assert ask("left", "hold") is None
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert ask("left", "hold") is None
    assert list(runtime.iterdir()) == []


def test_a_socket_left_by_a_killed_supervisor_is_replaced():
    path = socket_path("", create=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert ask("", "hold") is None
    with LocalSocket("", HANDLERS):
        assert ask("", "hold") == "held"


def test_a_path_that_is_too_long_leaves_nothing_behind(runtime, monkeypatch):
    long = runtime / ("x" * 100)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with LocalSocket("", HANDLERS):
        assert ask("", "hold") is None
        assert list(long.iterdir()) == []


def test_a_second_supervisor_does_not_take_the_place_of_the_first():
    with LocalSocket("", HANDLERS):
        with LocalSocket("", {"hold": lambda: "second"}):
            assert ask("", "hold") == "held"
        assert ask("", "hold") == "held"


def test_a_folder_that_others_may_enter_is_not_used(runtime):
    folder = runtime / f"manipapy-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)
    assert socket_path("") is None
    assert ask("", "hold") is None
    with LocalSocket("", HANDLERS):
        assert not list(folder.iterdir())


def test_the_entry_point_prints_what_the_supervisor_answers(capsys):
    with LocalSocket("left", HANDLERS):
        assert quick.answer(["hold", "--namespace", "left"]) and capsys.readouterr().out == "held\n"
        assert quick.answer(["hold", "--json", "--namespace=left"])
        assert json.loads(capsys.readouterr().out) == {"text": "held"}
        assert quick.answer(["state", "--namespace", "left", "--json"])
        assert json.loads(capsys.readouterr().out) == {"position": [1.0, 2.0]}
        with pytest.raises(SystemExit) as ended:
            quick.answer(["reset", "--namespace", "left"])
        assert ended.value.code == 2 and "stopped by its guard" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], ["hold"], ["move"], ["hold", "--help"], ["hold", "--namespace"], ["state", "--watch"], ["hold", "x"]]
)
def test_what_is_not_for_the_supervisor_goes_the_usual_way(words):
    with LocalSocket("left", HANDLERS):
        assert not quick.answer(words)


def test_nonsense_is_not_answered_and_does_no_harm():
    with LocalSocket("", HANDLERS):
        for nonsense in (b"\n", b"hold\n", b"[]\n", b'{"command": {}}\n'):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(socket_path("")))
                connection.sendall(nonsense)
                connection.settimeout(10.0)
                assert connection.recv(10) == b""
        assert ask("", "hold") == "held"
