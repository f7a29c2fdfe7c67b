"""Physics simulation with PyBullet: robots and objects, commands with a watchdog, scenes, stereo cameras, pictures.

PyBullet is loaded when the first world opens; it comes with `pip install 'manipapy[sim]'`.
"""

from .camera import Pinhole, StereoCamera, StereoFrame, look_at
from .drive_modes import DriveMode, DriveSettings, DriveStatus, HoldReason, ResumePolicy
from .errors import (
    CommandRefused,
    NameTaken,
    NotSimulable,
    RenderError,
    SceneError,
    SceneNotFound,
    SimulationUnavailable,
    SnapshotError,
    UnknownObject,
)
from .mirror import Mirror
from .picture import render
from .png import png_bytes, write_png
from .scene import Plane, Scene, SceneObject, Table, Texture
from .scene_file import bundled_scenes, object_from_mapping, read_scene
from .sim_robot import Contact, JointStates, SimRobot
from .stereo_process import StereoProcess
from .world import Snapshot, World

__all__ = [
    "CommandRefused",
    "Contact",
    "DriveMode",
    "DriveSettings",
    "DriveStatus",
    "HoldReason",
    "JointStates",
    "Mirror",
    "NameTaken",
    "NotSimulable",
    "Pinhole",
    "Plane",
    "RenderError",
    "ResumePolicy",
    "Scene",
    "SceneError",
    "SceneNotFound",
    "SceneObject",
    "SimRobot",
    "SimulationUnavailable",
    "Snapshot",
    "SnapshotError",
    "StereoCamera",
    "StereoFrame",
    "StereoProcess",
    "Table",
    "Texture",
    "UnknownObject",
    "World",
    "bundled_scenes",
    "look_at",
    "object_from_mapping",
    "png_bytes",
    "read_scene",
    "render",
    "write_png",
]
