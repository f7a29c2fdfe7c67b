"""Scenes with known objects, rendered by a simulated stereo camera."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="truth comes from the simulation: pip install 'manipapy[sim]'")
pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

from manipapy_core import lie
from manipapy_core.model import BoxGeometry, CylinderGeometry, SphereGeometry
from manipapy_core.perception import DepthImage, PerceptionPipeline, PerceptionResult, StereoModel, StereoPair
from manipapy_core.sim import Pinhole, RenderReplica, SceneObject, SimWorld, StereoCamera, StereoFrame, look_at
from manipapy_core.sim.scene import Table, Texture

PINHOLE = Pinhole.from_field_of_view(640, 480, 1.0)
BASELINE = 0.10
STEREO = StereoModel.ideal(640, 480, PINHOLE.fx, PINHOLE.fy, PINHOLE.cx, PINHOLE.cy, BASELINE)
FRAME_NS = 100_000_000
"""Ten frames a second."""
COLOURS = [(0.8, 0.3, 0.2, 1.0), (0.9, 0.7, 0.2, 1.0), (0.2, 0.4, 0.7, 1.0), (0.25, 0.6, 0.35, 1.0)]


def scene_object(name: str, shape, xyz, turn: float = 0.0, colour=COLOURS[0], **more) -> SceneObject:
    T = lie.pose(lie.exp_so3([0.0, 0.0, turn]), xyz)
    return SceneObject(name, shape, T, rgba=colour, texture=Texture.SPECKLE, **more)


def table(size=(1.6, 1.4, 0.75), xyz=(0.0, 0.0, 0.0)) -> SceneObject:
    return SceneObject(
        "table", Table(np.array(size)), lie.pose(None, xyz), rgba=(0.8, 0.66, 0.48, 1.0), texture=Texture.WOOD
    )


def looking_at(target, distance: float, elevation: float = 0.65, azimuth: float = -0.6) -> np.ndarray:
    """Pose of a camera at this distance [m], elevation and azimuth [rad] that points to the target."""
    away = [math.cos(azimuth) * math.cos(elevation), math.sin(azimuth) * math.cos(elevation), math.sin(elevation)]
    return look_at(np.asarray(target) + distance * np.array(away), target)


@dataclass
class Stage:
    """A simulated world and its renderer; use it in a `with` statement."""

    def __enter__(self) -> Stage:
        self.world, self.replica = SimWorld(), RenderReplica()
        return self

    def __exit__(self, *_: object) -> None:
        self.world.close()
        self.replica.close()

    def render(self, T_world_left: np.ndarray) -> StereoFrame:
        content, view = self.world.content_and_view()
        self.replica.load(content)
        return self.replica.stereo(StereoCamera(PINHOLE, BASELINE, T_world_left), view)


def render(items, T_world_left: np.ndarray) -> StereoFrame:
    with Stage() as stage:
        for item in items:
            stage.world.spawn(item)
        return stage.render(T_world_left)


def as_pair(frame: StereoFrame, time_ns: int = 0, q=None) -> StereoPair:
    return StereoPair(time_ns, frame.T_world_left, frame.left, frame.right, q)


def as_depth_image(frame: StereoFrame, time_ns: int = 0, q=None) -> DepthImage:
    return DepthImage(time_ns, frame.T_world_left, frame.depth, STEREO.left, q)


def feed_twice(pipeline: PerceptionPipeline, frame) -> PerceptionResult:
    """Two frames of the same view, so that objects are confirmed."""
    from dataclasses import replace

    pipeline.feed(frame)
    return pipeline.feed(replace(frame, time_ns=frame.time_ns + FRAME_NS))


def true_size(shape) -> np.ndarray:
    if isinstance(shape, BoxGeometry):
        return np.asarray(shape.size)
    if isinstance(shape, SphereGeometry):
        return np.full(3, 2.0 * shape.radius)
    assert isinstance(shape, CylinderGeometry)
    return np.array([2.0 * shape.radius, 2.0 * shape.radius, shape.length])
