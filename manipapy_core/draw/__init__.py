"""Robots in Matplotlib figures and in a live web viewer."""

from .box_panel import BoxCommands, BoxPanel
from .figures import has_screen, new_axes, new_figure, show
from .goal_check import GoalCheck, GoalKind, GoalState
from .goal_panel import Commands, GoalPanel
from .robot import RobotDrawing, animate_robot, draw_floor, draw_frame, draw_robot
from .servo_panel import ServoCommands, ServoPanel
from .status_panel import ArmStatus, StatusPanel, guard_text
from .tuning_panel import TuningCommands, TuningPanel
from .web_access import WebAccess
from .web_layers import Layer, Layers
from .web_markers import MarkerScene
from .web_overlays import MapSlice, TipPath, draw_spheres, thinned
from .web_robot import DrawnArm
from .web_view import ArmView

__all__ = [
    "ArmStatus",
    "ArmView",
    "BoxCommands",
    "BoxPanel",
    "Commands",
    "DrawnArm",
    "GoalCheck",
    "GoalKind",
    "GoalPanel",
    "GoalState",
    "Layer",
    "Layers",
    "MapSlice",
    "MarkerScene",
    "RobotDrawing",
    "ServoCommands",
    "ServoPanel",
    "StatusPanel",
    "TipPath",
    "TuningCommands",
    "TuningPanel",
    "WebAccess",
    "animate_robot",
    "draw_floor",
    "draw_frame",
    "draw_robot",
    "draw_spheres",
    "guard_text",
    "has_screen",
    "new_axes",
    "new_figure",
    "show",
    "thinned",
]
