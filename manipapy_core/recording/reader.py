"""Reads recordings without ROS: the definitions of the messages are in the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, MissingPackage
from ..typing import Array, Progress

NANO = 1e-9
PROGRESS_EVERY = 500
"""Messages between two calls of `progress`."""


@dataclass(frozen=True)
class RecordedMessage:
    """One message of a recording."""

    topic: str
    type_name: str
    time: float
    """Of its arrival, since the first message of the file [s]."""
    data: bytes
    """As it came over the wire (CDR)."""
    content: Any
    """Its fields as attributes; None if they were not requested."""


@dataclass(frozen=True)
class JointSeries:
    """Numbers per joint over time."""

    joint_names: tuple[str, ...]
    times: Array
    """[s], shape (m,)."""
    values: dict[str, Array]
    """By quantity, each of shape (m, n); nan where a message has none."""


@dataclass(frozen=True)
class StatusSeries:
    """Status of the controller over time."""

    times: Array
    """[s], shape (m,)."""
    verdicts: tuple[str, ...]
    """Of the guard: ok, slow, hold or stop."""
    reasons: tuple[str, ...]
    """Why, with the name of the check; empty while ok."""
    numbers: dict[str, Array]
    """`rate` [Hz], `jitter_p50`, `jitter_p99`, `work_p99` [us], `overruns`; each of shape (m,)."""


VERDICTS = ("ok", "slow", "hold", "stop")
STATUS_NUMBERS = ("rate", "jitter_p50", "jitter_p99", "work_p99", "overruns")


class Recording:
    """A recorded file.

    Args:
        path: An MCAP file with ROS 2 messages, of `manipapy record`, `ros2 bag record` or another program.
        progress: Called while messages are read, with their number and that of all messages of the topics read.

    Raises:
        InputError: It cannot be read, or is no such file.
        MissingPackage: The packages mcap and mcap-ros2-support are not installed.
    """

    def __init__(self, path: str | os.PathLike[str], *, progress: Progress = lambda done, total: None):
        try:
            from mcap.exceptions import McapError
            from mcap.reader import make_reader
            from mcap_ros2.decoder import DecoderFactory
        except ModuleNotFoundError:
            raise MissingPackage("mcap-ros2-support", "a recording", "recording") from None
        self.path, self._error, self._factory = Path(path), McapError, DecoderFactory
        self._make_reader, self._progress = make_reader, progress
        try:
            with self.path.open("rb") as file:
                summary = make_reader(file).get_summary()
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}") from None
        except McapError as error:
            raise InputError(f"{self.path} is no complete MCAP file ({error}); `mcap recover` may repair it") from None
        if summary is None or summary.statistics is None:
            raise InputError(f"{self.path} has no summary; `mcap recover` writes one")
        self.topics: dict[str, tuple[str, int]] = {}
        """Type and number of messages by topic."""
        for number, channel in summary.channels.items():
            schema = summary.schemas.get(channel.schema_id)
            count = summary.statistics.channel_message_counts.get(number, 0)
            before = self.topics.get(channel.topic, ("", 0))[1]
            self.topics[channel.topic] = ("" if schema is None else schema.name, before + count)
        self._start: int = summary.statistics.message_start_time
        self.duration = NANO * (summary.statistics.message_end_time - self._start)
        """From the first to the last message [s]."""

    def messages(
        self, topics: Sequence[str] | None = None, *, decode: bool = True, period: float = 0.0
    ) -> Iterator[RecordedMessage]:
        """Messages in the order of their arrival.

        Args:
            topics: Only of these; all when not given.
            decode: Fill in `content`.
            period: Skip messages that came earlier than this after the one before of their topic [s].

        Raises:
            InputError: The file is damaged.
        """
        factory, latest = self._factory(), dict[str, int]()
        total = sum(count for topic, (_, count) in self.topics.items() if topics is None or topic in topics)
        try:
            with self.path.open("rb") as file:
                found = self._make_reader(file).iter_messages(topics=topics)
                for number, (schema, channel, message) in enumerate(found):
                    if number % PROGRESS_EVERY == 0:
                        self._progress(number, total)
                    if period and message.log_time - latest.get(channel.topic, -(1 << 62)) < period / NANO:
                        continue
                    latest[channel.topic] = message.log_time
                    decoder = factory.decoder_for(channel.message_encoding, schema) if decode else None
                    yield RecordedMessage(
                        channel.topic,
                        "" if schema is None else schema.name,
                        NANO * (message.log_time - self._start),
                        message.data,
                        None if decoder is None else decoder(message.data),
                    )
        except self._error as error:
            raise InputError(f"{self.path} is damaged: {error}; `mcap recover` may repair it") from None

    def topic_ending(self, name: str) -> str | None:
        """The topic of this relative name, in whatever namespace; None if there is none with messages."""
        found = [topic for topic, (_, count) in self.topics.items() if count and f"/{topic}".endswith(f"/{name}")]
        if len(found) > 1:
            raise InputError(f"{self.path} has several topics {name}: {', '.join(sorted(found))}; choose a namespace")
        return found[0] if found else None

    def joint_states(self, topic: str, *, period: float = 0.0) -> JointSeries:
        """Positions [rad or m], velocities and efforts of a topic of type sensor_msgs/msg/JointState.

        Args:
            period: Least time between two states [s]; 0: all of them.
        """
        rows = [(item.time, item.content) for item in self.messages([topic], period=period)]
        names = tuple(rows[0][1].name) if rows else ()
        fields = ("position", "velocity", "effort")
        values = {field: _table([_by_name(state, field, names) for _, state in rows], len(names)) for field in fields}
        return JointSeries(names, np.array([time for time, _ in rows]), values)

    def tracking(self, topic: str) -> JointSeries:
        """`reference` and `measured` positions [rad or m] of a topic of JointTrajectoryControllerState."""
        rows = [(item.time, item.content) for item in self.messages([topic])]
        names = tuple(rows[0][1].joint_names) if rows else ()
        values = {
            "reference": _table([state.reference.positions for _, state in rows], len(names)),
            "measured": _table([state.feedback.positions for _, state in rows], len(names)),
        }
        return JointSeries(names, np.array([time for time, _ in rows]), values)

    def status(self, topic: str) -> StatusSeries:
        """Guard and loop of a topic of type manipapy_msgs/msg/ControllerStatus."""
        rows = [(item.time, item.content) for item in self.messages([topic])]
        return StatusSeries(
            np.array([time for time, _ in rows]),
            tuple(VERDICTS[state.verdict] for _, state in rows),
            tuple(f"{state.check}: {state.reason}" if state.reason else "" for _, state in rows),
            {name: np.array([float(getattr(state, name)) for _, state in rows]) for name in STATUS_NUMBERS},
        )

    def description(self) -> str | None:
        """The last robot description in the recording; None if there is none."""
        topic = self.topic_ending("robot_description")
        texts = [item.content.data for item in self.messages([topic])] if topic else []
        return texts[-1] if texts else None


def _by_name(state: Any, field: str, names: Sequence[str]) -> list[float]:
    """Values in the order of the names: drivers may change theirs."""
    values = dict(zip(state.name, getattr(state, field)))
    return [values.get(name, np.nan) for name in names]


def _table(rows: Sequence[Sequence[float]], n: int) -> Array:
    full = [list(row) if len(row) == n else [np.nan] * n for row in rows]
    return np.array(full, dtype=np.float64).reshape(len(full), n)
