"""Writes serialized ROS messages to an MCAP file that is complete at any time.

An MCAP file ends with an index and a footer, which tools look for first. A program that is killed does not get to write
them. Here every `commit` writes the new messages and the whole ending in one call, over the ending before: after a
`kill -9` the file holds everything up to the last commit, and needs no repair. The ending grows by some 100 bytes per
commit, and with it the file by no more than it would without.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import InputError, MissingPackage

CHUNK_SIZE = 1 << 20
"""Messages are compressed together up to this size [bytes], or up to a commit."""
MAGIC_SIZE, FOOTER_SIZE, DATA_END_SIZE = 8, 29, 13
"""Of the last records of a file [bytes], each with opcode and length (MCAP specification)."""


class RecordingWriter:
    """An open recording. Use it in a `with` statement.

    Args:
        path: New file; an existing one is not overwritten.

    Raises:
        InputError: The file exists or cannot be written.
        MissingPackage: The package mcap is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]):
        try:
            from mcap.writer import CompressionType, Writer
        except ModuleNotFoundError:
            raise MissingPackage("mcap", "a recording", "recording") from None
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            raise InputError(f"{self.path} exists; choose another name, or delete it") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror}; choose another folder") from None
        self._ending = _Ending(self._file)
        stream: Any = self._ending  # it has what the writer uses of a file
        # Without offsets of the summary's parts `finish` may be called again and again; readers do not need them.
        self._writer: Any = Writer(
            stream, chunk_size=CHUNK_SIZE, compression=CompressionType.ZSTD, use_summary_offsets=False
        )
        self._writer.start(profile="ros2", library="manipapy")
        self._schemas: dict[str, int] = {}
        self.messages = 0
        """Number of messages so far."""
        self.commit()

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add_topic(self, topic: str, type_name: str, definition: str) -> int:
        """Number of a new topic, for `add`.

        Args:
            type_name: Such as `sensor_msgs/msg/JointState`.
            definition: Of the type and, after lines of `=`, of all types in it (`ros2msg`).
        """
        if type_name not in self._schemas:
            self._schemas[type_name] = self._writer.register_schema(type_name, "ros2msg", definition.encode())
        return self._writer.register_channel(topic, "cdr", self._schemas[type_name], {"offered_qos_profiles": ""})

    def add(self, topic: int, data: bytes, received: int, sent: int) -> None:
        """Add a message.

        Args:
            topic: From `add_topic`.
            data: The message as it came over the wire (CDR).
            received: [ns] since 1970.
            sent: [ns] since 1970.
        """
        self._writer.add_message(topic, log_time=received, data=data, publish_time=sent, sequence=self.messages)
        self.messages += 1

    def commit(self) -> None:
        """From here on, everything added so far survives the end of the process."""
        self._writer.finish()
        self._ending.write_out()

    def close(self) -> None:
        """Commit and close; a second call does nothing."""
        if self._file >= 0:
            self.commit()
            os.close(self._file)
            self._file = -1


class _Ending:
    """The part of the file that is not final: a stream that the MCAP writer writes to."""

    def __init__(self, file: int):
        self._file, self._start, self._bytes = file, 0, bytearray()

    def write(self, data: bytes) -> int:
        self._bytes += data
        return len(data)

    def tell(self) -> int:
        return self._start + len(self._bytes)

    def flush(self) -> None:
        """Nothing reaches the file before `write_out`."""

    def write_out(self) -> None:
        """Write everything; what stands before the end of the data section is final from now on."""
        data, done = memoryview(bytes(self._bytes)), 0
        while done < len(data):
            done += os.pwrite(self._file, data[done:], self._start + done)
        (summary_start,) = struct.unpack_from("<Q", data, len(data) - MAGIC_SIZE - FOOTER_SIZE + 9)
        self._start = summary_start - DATA_END_SIZE
        self._bytes.clear()
