"""Recordings: complete at any time, readable by others, and drawn."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import CameraInfo, JointState
from std_msgs.msg import String

from manipapy_core import Robot
from manipapy_core.draw.recording import guard_events, plot_recording
from manipapy_core.errors import InputError
from manipapy_core.recording import Recording, RecordingWriter
from manipapy_ros.recording.definitions import UnknownMessage, definition_of, message_class
from manipapy_ros.recording.player import replayed_topics

SECOND = 1_000_000_000
NAMES = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]
KILLED = """
import os, signal, sys
from manipapy_core.recording import RecordingWriter
writer = RecordingWriter(sys.argv[1])
topic = writer.add_topic("/text", "std_msgs/msg/String", "string data\\n")
for i in range(500):
    writer.add(topic, bytes([0, 1, 0, 0, 2, 0, 0, 0, 97, 0]), 1_000_000 * i, 0)
    if i == 399:
        writer.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""


def record(path: Path, messages: dict[str, list], period: float = 0.1) -> None:
    """A file with these messages, all topics at the same times."""
    with RecordingWriter(path) as writer:
        for topic, items in messages.items():
            kind = type(items[0])
            type_name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
            number = writer.add_topic(topic, type_name, definition_of(kind))
            for i, item in enumerate(items):
                writer.add(number, serialize_message(item), SECOND + round(i * period * SECOND), SECOND)


def state(i: int) -> JointState:
    effort = [0.1 * i, 75.0, 0.0, 0.0, 0.0, 0.0]
    return JointState(name=NAMES, position=[0.01 * i] * 6, velocity=[0.1] * 6, effort=effort)


@pytest.fixture
def run(tmp_path) -> Path:
    """A file as a run leaves it, with a hold of the guard in the middle."""
    tracking, statuses = [], []
    for i in range(50):
        message = JointTrajectoryControllerState(joint_names=NAMES)
        message.reference.positions, message.feedback.positions = [0.01 * i] * 6, [0.01 * i] * 5 + [0.01 * i - 0.002]
        tracking.append(message)
        held = 20 <= i < 25
        status = ControllerStatus(verdict=ControllerStatus.HOLD if held else ControllerStatus.OK, rate=1000.0)
        status.check, status.reason = ("tracking", "too far") if held else ("", "")
        status.jitter_p50, status.jitter_p99, status.work_p99 = 5.0, 50.0 + i, 30.0
        statuses.append(status)
    path = tmp_path / "run.mcap"
    topics = {
        "/arm/robot_description": [String(data=Robot.from_urdf("ur5").urdf)],
        "/arm/joint_states": [state(i) for i in range(50)],
        "/arm/controller/controller_state": tracking,
        "/arm/controller/status": statuses,
    }
    record(path, topics)
    return path


def test_readers_of_others_find_the_same_numbers(run):
    with run.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        theirs = [message.position[0] for *_, message in reader.iter_decoded_messages(topics=["/arm/joint_states"])]
    with AnyReader([run]) as bag:
        connections = [item for item in bag.connections if item.topic == "/arm/joint_states"]
        bags = [bag.deserialize(raw, item.msgtype) for item, _, raw in bag.messages(connections=connections)]
    ours = Recording(run).joint_states("/arm/joint_states")
    np.testing.assert_array_equal(ours.values["position"][:, 0], theirs)
    np.testing.assert_array_equal(ours.values["effort"], [message.effort for message in bags])
    assert ours.joint_names == tuple(NAMES) and ours.times[-1] == pytest.approx(4.9)


def test_definitions_of_nested_types_arrays_and_bounds_are_understood(tmp_path):
    info = CameraInfo(width=3, height=2, k=np.arange(9.0), d=[1.0, 2.0], distortion_model="plumb_bob")
    info.roi.width = 7
    record(tmp_path / "camera.mcap", {"/info": [info]})
    (found,) = Recording(tmp_path / "camera.mcap").messages()
    assert list(found.content.k) == list(range(9)) and list(found.content.d) == [1.0, 2.0]
    assert (found.content.roi.width, found.content.distortion_model) == (7, "plumb_bob")


def test_a_killed_process_leaves_a_readable_file(tmp_path):
    path = tmp_path / "killed.mcap"
    ended = subprocess.run([sys.executable, "-c", KILLED, path])
    assert ended.returncode == -signal.SIGKILL
    recording = Recording(path)
    assert recording.topics == {"/text": ("std_msgs/msg/String", 400)}
    assert [message.content.data for message in recording.messages()] == ["a"] * 400
    with AnyReader([path]) as bag:
        assert sum(1 for _ in bag.messages()) == 400


def test_plot_shows_tracking_efforts_timing_and_the_guard(run, tmp_path):
    read: list[tuple[int, int]] = []
    recording = Recording(run, progress=lambda *step: read.append(step))
    lines = plot_recording(recording, tmp_path / "run.png")
    assert read[0][0] == 0 and all(done < total for done, total in read)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "tracking: largest error 2 mrad or mm (wrist_3_joint)" in lines
    assert "efforts: at most 50 % of the limit (shoulder_lift_joint)" in lines
    assert "guard: hold at 2.00 s for 0.50 s, tracking: too far" in lines
    ((verdict, start, end, _),) = guard_events(recording.status("/arm/controller/status"))
    assert (verdict, start, end) == ("hold", pytest.approx(2.0), pytest.approx(2.5))


def test_replay_leaves_out_commands_unless_they_are_named(tmp_path):
    record(tmp_path / "run.mcap", {"/a/joint_states": [state(0)], "/a/x/commands": [String(data="")]})
    recording = Recording(tmp_path / "run.mcap")
    assert replayed_topics(recording, []) == ["/a/joint_states"]
    assert replayed_topics(recording, ["/a/x/commands"]) == ["/a/x/commands"]
    with pytest.raises(InputError, match="it has: /a/joint_states"):
        replayed_topics(recording, ["/b"])


def test_bad_files_are_refused_with_a_sentence(tmp_path, run):
    with pytest.raises(InputError, match="exists"):
        RecordingWriter(run)
    with pytest.raises(InputError, match="cannot be written"):
        RecordingWriter(tmp_path / "none" / "run.mcap")
    with pytest.raises(InputError, match="cannot be read"):
        Recording(tmp_path / "none.mcap")
    (tmp_path / "text.mcap").write_text("no recording")
    with pytest.raises(InputError, match="no complete MCAP file"):
        Recording(tmp_path / "text.mcap")
    record(tmp_path / "text_only.mcap", {"/text": [String(data="a")]})
    with pytest.raises(InputError, match="neither joint_states"):
        plot_recording(Recording(tmp_path / "text_only.mcap"), tmp_path / "text.png")
    with pytest.raises(UnknownMessage, match="no_such_msgs"):
        message_class("no_such_msgs/msg/Nothing")
