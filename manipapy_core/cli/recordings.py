"""Command `manipapy plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from .json_text import print_json
from .options import Json
from .progress import progress


def plot(
    recording: Annotated[Path, typer.Argument(help="A recording of `manipapy record` or `ros2 bag record`.")],
    output: Annotated[
        Optional[Path],  # noqa: UP045  (typer evaluates annotations itself, on Python 3.10 as well)
        typer.Option("--output", "-o", help="Image to write; default: beside the recording."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw tracking, efforts, timing and guard events of a recording.

    Example: `manipapy plot run.mcap -o run.png`
    """
    from ..draw.recording import plot_recording
    from ..recording import Recording

    path = recording.with_suffix(".png") if output is None else output
    with progress(f"reading {recording}") as display:
        found = Recording(recording, progress=display.update)
        lines = plot_recording(found, path)
    if as_json:
        topics = {name: {"type": kind, "messages": count} for name, (kind, count) in found.topics.items()}
        print_json({"image": str(path), "duration": found.duration, "topics": topics, "findings": lines})
        return
    print("\n".join([f"{path}: {found.duration:.1f} s, {len(found.topics)} topics", *lines]))
