"""Commands `manipapy record` and `manipapy replay`."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Optional

import typer

from manipapy_core.cli.json_text import print_json
from manipapy_core.cli.options import Json, console, escape
from manipapy_core.errors import InputError

from ..common.requirements import require_ros

# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
Texts = Optional[list[str]]  # noqa: UP045


def record(
    path: Annotated[str, typer.Argument(help="File to write, such as run.mcap.")],
    namespace: Annotated[str, typer.Option(help="Namespace of the robot.")] = "",
    topic: Annotated[Texts, typer.Option(help="Record this topic instead of the usual ones; repeatable.")] = None,
    images: Annotated[bool, typer.Option("--images", help="Also images and point clouds.")] = False,
    seconds: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Stop after so long [s]; default: on Ctrl-C."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Record joint states, controller and planner to an MCAP file.

    And the simulation, if there is one, until Ctrl-C.

    Example: `manipapy record run.mcap --seconds 30`
    """
    require_ros()
    from ..client.session import RosSession
    from ..recording.recorder import IMAGES, TOPICS, Recorder

    end = math.inf if seconds is None else time.monotonic() + seconds
    with RosSession("recorder", namespace) as session:
        recorder = Recorder(session, path, (*(topic or TOPICS), *(IMAGES if images else ())))
        with console().status("recording; Ctrl-C ends it") as line, suppress(KeyboardInterrupt):
            recorder.record(
                lambda: time.monotonic() > end,
                lambda count, topics: line.update(f"recording: {count} messages of {topics} topics; Ctrl-C ends it"),
            )
    if not recorder.writer.messages:
        raise InputError(f"no message was recorded in {path}; are the nodes running, with the same ROS_DOMAIN_ID?")
    if as_json:
        print_json({"file": path, "messages": recorder.writer.messages, "topics": recorder.topics})
        return
    console().print(f"{escape(path)}: {recorder.writer.messages} messages of {len(recorder.topics)} topics")


def replay(
    path: Annotated[str, typer.Argument(help="A recording, such as run.mcap, or a report of a failed motion.")],
    topic: Annotated[Texts, typer.Option(help="Publish only this topic; repeatable.")] = None,
    speed: Annotated[float, typer.Option(help="Recorded seconds per second.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Publish a recording again.

    Commands that would move an arm are published only if named with `--topic`.

    A report of a failed motion is planned again instead, without nodes. Exits with 1 if planning ends otherwise now.

    Example: `manipapy replay run.mcap --speed 0.5` or `manipapy replay failure.json`
    """
    require_ros()
    from ..planner.failure_report import is_report

    if is_report(Path(path)):
        _plan_again(Path(path), as_json)
        return
    from manipapy_core.recording import Recording

    from ..client.session import RosSession
    from ..recording.player import replay as publish
    from ..recording.player import replayed_topics

    recording = Recording(path)
    topics = replayed_topics(recording, topic or [])
    with RosSession("replay") as session, console().status("waiting for subscribers") as line:
        try:
            done = publish(
                session,
                recording,
                topics,
                speed=speed,
                progress=lambda now: line.update(f"{now:.1f} of {recording.duration:.1f} s"),
            )
        except KeyboardInterrupt:
            return
    console().print(f"{done} messages of {len(topics)} topics published")


def _plan_again(path: Path, as_json: bool) -> None:
    """Prints what a failed motion was and how planning ends now."""
    from ..planner.failure_report import reproduce

    with console().status("planning again"):
        found = reproduce(path)
    if as_json:
        print_json({"reason": found.reason, "status": found.status, "now": found.text, "same": found.same})
    else:
        console().print(f"then: {escape(found.reason)}")
        console().print(f"now:  {escape(found.text)}")
        if not found.status:
            console().print("the reason was outside planning: the controller, the arm or the request")
    if found.status and not found.same:
        raise typer.Exit(1)
