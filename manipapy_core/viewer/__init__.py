"""An arm in a browser: where it is, where it should go, and what is drawn around it. Needs the extra `viewer`."""

from .arm_view import ArmView
from .drawn_arm import DrawnArm
from .goal_panel import Commands, GoalPanel

__all__ = ["ArmView", "Commands", "DrawnArm", "GoalPanel"]
