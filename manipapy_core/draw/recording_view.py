"""A recording on the web page: the arm, the scene, planned paths and plots, played without ROS."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from .. import lie
from ..errors import InputError
from ..model.chain import Chain
from ..recording import Recording
from ..typing import Array
from .playback import PlaybackPanel
from .status_panel import ArmStatus
from .web_layers import Layer
from .web_view import ArmView

MARKER_LAYERS = {
    "sim_bridge/ground_truth": ("Scene", True, "Simulated objects in their own colours"),
    "planner/display_path": ("Planned path", True, "Of the last plan"),
    "planner/world_markers": ("Known objects", False, "World of the planner"),
    "perception/obstacle_markers": ("Detections", False, "Of perception, without the planner's margin"),
    "capability/polytope_markers": ("Polytope", True, "Of the tip, at the measured position"),
}
"""Topics of markers: their layers, whether those are shown at the start, and what is drawn."""
PERIOD = 0.02
"""Least time between two states that are shown [s]."""
JUMP = 2.0
"""A step in time that the path of the tip is not drawn across [s]."""
STATES, STATUS = "controller/controller_state", "controller/status"


class RecordingView:
    """Plays a recording on a page. Close it before the page.

    Args:
        view: The page, of the robot of the recording.
        recording: With joint states.

    Raises:
        InputError: The recording has no joint states of this arm.
    """

    def __init__(self, view: ArmView, recording: Recording):
        self.view = view
        chain = view.arm.chain
        topic = recording.topic_ending("joint_states")
        if topic is None:
            raise InputError(f"{recording.path} has no joint_states")
        series = recording.joint_states(topic, period=PERIOD)
        missing = [name for name in chain.joint_names if name not in series.joint_names]
        if missing:
            raise InputError(f"{recording.path} has no positions of {', '.join(missing)}; another robot?")
        order = [series.joint_names.index(name) for name in chain.joint_names]
        self._times, self._q = series.times, series.values["position"][:, order]
        self._place_frames(recording, chain)
        self._markers = self._read_markers(recording)
        self._errors = self._read_errors(recording)
        status = recording.topic_ending(STATUS)
        self._status = recording.status(status) if status else None
        self._last = 0.0
        view.layers["Goal"].visible = False
        with view.server.gui.add_folder("Recording", order=-1.0):
            self.playback = PlaybackPanel(view.server, float(recording.duration), self._show)

    def close(self) -> None:
        """Stop playing."""
        self.playback.close()

    def _read_markers(self, recording: Recording) -> list[tuple[str, Layer, list[float], list[Any]]]:
        found = []
        for ending, (name, visible, hint) in MARKER_LAYERS.items():
            topic = recording.topic_ending(ending)
            if topic is not None:
                messages = list(recording.messages([topic], period=PERIOD))
                layer = self.view.layers.add(name, visible=visible, hint=hint)
                found.append((topic, layer, [m.time for m in messages], [m.content.markers for m in messages]))
                if name == "Scene":
                    self.view.layers["Grid"].visible = False
        return found

    def _read_errors(self, recording: Recording) -> tuple[Array, Array] | None:
        topic = recording.topic_ending(STATES)
        if topic is None:
            return None
        series = recording.tracking(topic)
        errors = np.abs(series.values["reference"] - series.values["measured"])
        known = np.isfinite(errors).all(axis=1)
        return series.times[known], errors[known].max(axis=1, initial=0.0)

    def _place_frames(self, recording: Recording, chain: Chain) -> None:
        """Places frames that `tf_static` connects with the base, such as the simulated world."""
        topic = recording.topic_ending("tf_static")
        messages = recording.messages([topic]) if topic else ()
        parents = {
            item.child_frame_id: (item.header.frame_id, _matrix(item.transform))
            for message in messages
            for item in message.content.transforms
        }
        T_root_base, root = _to_root(chain.base, parents)
        for frame in {*parents, *(parent for parent, _ in parents.values())}:
            T_root_frame, same = _to_root(frame, parents)
            if same == root and self.view.node_of(frame) is None:
                self.view.place_frame(frame, lie.inverse(T_root_base) @ T_root_frame)

    def _show(self, now: float) -> None:
        back = now < self._last
        if back or now > self._last + JUMP:
            self.view.path.clear()
        row = min(max(bisect_right(self._times, now) - 1, 0), len(self._times) - 1)
        self.view.show(self._q[row])
        for topic, layer, times, messages in self._markers:
            index = bisect_right(times, now) - 1
            if back:
                self.view.markers.clear(topic)
            if index >= 0:
                self.view.markers.take(topic, messages[index], layer)
        self._show_controller(now)
        self._last = now

    def _show_controller(self, now: float) -> None:
        if self._errors is not None and len(self._errors[0]):
            index = min(max(bisect_right(self._errors[0], now) - 1, 0), len(self._errors[0]) - 1)
            self.view.status.plot_tracking(now, float(self._errors[1][index]))
        status = self._status
        if status is None or not len(status.times):
            self.view.status.show_text(f"{now:.2f} s")
            return
        index = min(max(bisect_right(status.times, now) - 1, 0), len(status.times) - 1)
        numbers = {name: float(values[index]) for name, values in status.numbers.items()}
        shown = ArmStatus(status.verdicts[index], status.reasons[index], rate=numbers["rate"], law=f"{now:.2f} s")
        self.view.status.show(shown)
        self.view.status.plot_timing(now, numbers["jitter_p99"], numbers["work_p99"])


def _matrix(transform: Any) -> Array:
    t, r = transform.translation, transform.rotation
    return lie.pose(lie.rotation_from_quaternion([r.x, r.y, r.z, r.w]), [t.x, t.y, t.z])


def _to_root(frame: str, parents: dict[str, tuple[str, Array]]) -> tuple[Array, str]:
    """T_root_frame and the name of the root."""
    T, seen = np.eye(4), {frame}
    while frame in parents:
        frame, T_parent = parents[frame]
        T = T_parent @ T
        if frame in seen:
            raise InputError(f"the transforms on tf_static lead from {frame!r} back to itself")
        seen.add(frame)
    return T, frame
