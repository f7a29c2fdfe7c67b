"""Physics simulation with MuJoCo or PyBullet: robots and objects, commands with a watchdog, scenes, cameras, images.

The engine is loaded when the first world opens; both come with `pip install 'manipapy[sim]'`.
"""

from .camera import Pinhole, StereoCamera, StereoFrame, look_at
from .drive_types import DriveMode, DriveSettings, DriveStatus, HoldReason, ResumePolicy
from .engine import DEFAULT_SIMULATOR, SimContact, Simulator
from .errors import (
    CommandRefused,
    NameTaken,
    NotSimulable,
    RenderError,
    SceneError,
    SceneNotFound,
    SimulationUnavailable,
    SnapshotError,
    UnknownSceneObject,
)
from .render.png import png_bytes, write_png
from .render.replica import RenderReplica
from .render.stereo_process import StereoProcess
from .render.still_image import render
from .robot import JointStates, SimRobot
from .scene import GroundPlane, Scene, SceneObject, Table, Texture
from .scene_file import bundled_scenes, object_from_mapping, read_scene
from .world import SimSnapshot, SimWorld

__all__ = [
    "DEFAULT_SIMULATOR",
    "CommandRefused",
    "DriveMode",
    "DriveSettings",
    "DriveStatus",
    "GroundPlane",
    "HoldReason",
    "JointStates",
    "NameTaken",
    "NotSimulable",
    "Pinhole",
    "RenderError",
    "RenderReplica",
    "ResumePolicy",
    "Scene",
    "SceneError",
    "SceneNotFound",
    "SceneObject",
    "SimContact",
    "SimRobot",
    "SimSnapshot",
    "SimWorld",
    "SimulationUnavailable",
    "Simulator",
    "SnapshotError",
    "StereoCamera",
    "StereoFrame",
    "StereoProcess",
    "Table",
    "Texture",
    "UnknownSceneObject",
    "bundled_scenes",
    "look_at",
    "object_from_mapping",
    "png_bytes",
    "read_scene",
    "render",
    "write_png",
]
