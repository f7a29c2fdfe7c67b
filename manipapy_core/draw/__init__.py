"""Robots in Matplotlib figures and in a live web viewer."""

from .figures import has_screen, new_axes, new_figure, show
from .goal_panel import Commands, GoalPanel
from .robot import RobotDrawing, animate_robot, draw_floor, draw_frame, draw_robot
from .servo_panel import ServoCommands, ServoPanel
from .web_access import WebAccess
from .web_robot import DrawnArm
from .web_view import ArmView

__all__ = [
    "ArmView",
    "Commands",
    "DrawnArm",
    "GoalPanel",
    "RobotDrawing",
    "ServoCommands",
    "ServoPanel",
    "WebAccess",
    "animate_robot",
    "draw_floor",
    "draw_frame",
    "draw_robot",
    "has_screen",
    "new_axes",
    "new_figure",
    "show",
]
