"""The figure of a recording: tracking, efforts against limits, timing of the loop, events of the guard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..model import Robot
from ..recording import JointSeries, Recording, StatusSeries
from .figures import require_matplotlib

MILLI, PERCENT = 1e3, 100.0
COLOURS = {"slow": "tab:olive", "hold": "tab:orange", "stop": "tab:red"}
"""Of the verdicts of the guard, behind all parts."""
STATES = ("controller/controller_state", "joint_trajectory_controller/controller_state")


def plot_recording(recording: Recording, path: Path) -> list[str]:
    """Write a figure of what a recording contains; returns a line for each part.

    Raises:
        InputError: It has none of the topics that are drawn.
        MissingPackage: Matplotlib is not installed.
    """
    tracking = next((topic for name in STATES if (topic := recording.topic_ending(name))), None)
    states, status = recording.topic_ending("joint_states"), recording.topic_ending("controller/status")
    if not (tracking or states or status):
        raise InputError(f"{recording.path} has neither joint_states nor the state or status of a controller")
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    parts = 2 * bool(tracking) + bool(states) + bool(status)
    figure = Figure(figsize=(11, 1.5 + 2.3 * parts), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(parts, 1, sharex=True, squeeze=False)[:, 0])
    remaining, lines = iter(axes), []
    if tracking:
        lines.append(_draw_tracking(next(remaining), next(remaining), recording.tracking(tracking)))
    if states:
        lines.append(_draw_efforts(next(remaining), recording.joint_states(states), recording.description()))
    if status:
        series = recording.status(status)
        lines.append(_draw_loop(next(remaining), series))
        events = list(guard_events(series))
        for verdict, start, end, why in events:
            lines.append(f"guard: {verdict} at {start:.2f} s for {end - start:.2f} s, {why}")
        for verdict, start, end, _ in events:
            for axis in axes:
                axis.axvspan(start, end, color=COLOURS[verdict], alpha=0.25, linewidth=0)
    for axis in axes:
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]; coloured: guard slows (olive), holds (orange), stops (red)")
    figure.suptitle(recording.path.name)
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {error}; choose a file that ends in .png, .svg or .pdf") from None
    return lines


def guard_events(status: StatusSeries) -> Iterator[tuple[str, float, float, str]]:
    """Verdict, start and end [s] and reason of every time that the guard was not ok."""
    start, n = 0, len(status.verdicts)
    for i in range(1, n + 1):
        if i < n and status.verdicts[i] == status.verdicts[start]:
            continue
        if status.verdicts[start] != "ok":
            end = float(status.times[min(i, n - 1)])
            yield status.verdicts[start], float(status.times[start]), end, status.reasons[start]
        start = i


def _draw_tracking(positions: Any, errors: Any, series: JointSeries) -> str:
    reference, measured = series.values["reference"], series.values["measured"]
    for j, name in enumerate(series.joint_names):
        positions.plot(series.times, reference[:, j], "--", color=f"C{j}", linewidth=1.0)
        positions.plot(series.times, measured[:, j], color=f"C{j}", linewidth=1.4, label=name)
        errors.plot(series.times, MILLI * (reference - measured)[:, j], color=f"C{j}", linewidth=1.0)
    positions.set_ylabel("position [rad or m]\ndashed: reference")
    positions.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    errors.set_ylabel("tracking error\n[mrad or mm]")
    error = np.abs(reference - measured)
    if not np.isfinite(error).any():
        return "tracking: no positions"
    worst = series.joint_names[int(np.nanargmax(np.nanmax(error, axis=0)))]
    return f"tracking: largest error {MILLI * np.nanmax(error):.3g} mrad or mm ({worst})"


def _draw_efforts(axis: Any, series: JointSeries, description: str | None) -> str:
    efforts = series.values["effort"]
    limits = np.full(len(series.joint_names), np.nan)
    if description is not None:
        joints = Robot.from_urdf(description, check_meshes=False).joints
        limits = np.array([joints[name].effort if name in joints else np.nan for name in series.joint_names])
    known = np.isfinite(limits) & (limits > 0.0)
    scale = np.where(known, PERCENT / np.where(known, limits, 1.0), 1.0) if known.all() else np.ones(len(limits))
    for j, name in enumerate(series.joint_names):
        axis.plot(series.times, efforts[:, j] * scale[j], color=f"C{j}", linewidth=1.0, label=name)
    if not known.all():
        axis.set_ylabel("effort [N m or N]")
        return "efforts: the recording has no limits to compare with"
    axis.set_ylabel("effort [% of limit]")
    for limit in (-PERCENT, PERCENT):
        axis.axhline(limit, color="black", linewidth=0.8, linestyle=":")
    share = np.abs(efforts) / limits
    if not np.isfinite(share).any():
        return "efforts: none in joint_states"
    worst = series.joint_names[int(np.nanargmax(np.nanmax(share, axis=0)))]
    return f"efforts: at most {PERCENT * np.nanmax(share):.0f} % of the limit ({worst})"


def _draw_loop(axis: Any, status: StatusSeries) -> str:
    axis.semilogy(status.times, status.numbers["jitter_p50"].clip(1.0), color="C0", label="jitter, median")
    axis.semilogy(status.times, status.numbers["jitter_p99"].clip(1.0), color="C3", label="jitter, 99 of 100")
    axis.semilogy(status.times, status.numbers["work_p99"].clip(1.0), color="C2", label="duration, 99 of 100")
    axis.set_ylabel("tick [µs]")
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    rate, overruns = np.median(status.numbers["rate"]), status.numbers["overruns"].sum()
    worst = status.numbers["jitter_p99"].max()
    return f"loop: {rate:.0f} Hz in the middle, {overruns:.0f} cycles skipped, jitter p99 at most {worst:.0f} us"
