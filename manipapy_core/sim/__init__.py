"""Physics simulation with PyBullet: robots and objects, commands with a watchdog, scenes, stereo cameras, pictures.

PyBullet is loaded when the first world opens; it comes with `pip install 'manipapy[sim]'`.
"""

from .drive import DriveMode, DriveSettings, DriveStatus, HoldReason, ResumePolicy
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
from .scene import Plane, Scene, SceneObject, Table, Texture
from .scene_file import bundled_scenes, object_from_mapping, read_scene
from .sim_robot import Contact, JointStates, SimRobot
from .world import Snapshot, World
