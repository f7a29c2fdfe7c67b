"""Recordings of a robot in MCAP files, which Foxglove and `ros2 bag` read too."""

from .reader import JointSeries, Recording, StatusSeries
from .writer import RecordingWriter

__all__ = ["JointSeries", "Recording", "RecordingWriter", "StatusSeries"]
