"""Pictures of robots with matplotlib, which is loaded at the first drawing."""

from .draw import RobotDrawing, draw_floor, draw_frame, draw_robot
from .figures import has_screen, new_axes, new_figure, show

__all__ = ["RobotDrawing", "draw_floor", "draw_frame", "draw_robot", "has_screen", "new_axes", "new_figure", "show"]
