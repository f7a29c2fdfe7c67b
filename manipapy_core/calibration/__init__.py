"""Calibration of cameras: intrinsic parameters, stereo pairs, and where a camera is (hand-eye).

OpenCV is imported when the first image is processed.
"""

from ..perception.camera_pose import CameraPose
from .boards import Board, BoardKind, BoardView
from .cameras import CameraCalibration, calibrate_camera
from .files import (
    image_files,
    image_pairs,
    load_camera,
    read_image,
    read_views,
    read_visits,
    save_camera,
    save_hand_eye,
    write_poses,
    write_visits,
)
from .hand_eye import HandEyeCalibration, HandEyeView, Setup, calibrate_hand_eye
from .problems import BadCalibrationSet, SetProblem
from .render import BoardRenderer
from .stereo import StereoCalibration, calibrate_stereo
from .view_sampling import in_image, sampled_views
from .visits import Visit, VisitPlan, plan_visits

__all__ = [
    "BadCalibrationSet",
    "Board",
    "BoardKind",
    "BoardRenderer",
    "BoardView",
    "CameraCalibration",
    "CameraPose",
    "HandEyeCalibration",
    "HandEyeView",
    "SetProblem",
    "Setup",
    "StereoCalibration",
    "Visit",
    "VisitPlan",
    "calibrate_camera",
    "calibrate_hand_eye",
    "calibrate_stereo",
    "image_files",
    "image_pairs",
    "in_image",
    "load_camera",
    "plan_visits",
    "read_image",
    "read_views",
    "read_visits",
    "sampled_views",
    "save_camera",
    "save_hand_eye",
    "write_poses",
    "write_visits",
]
