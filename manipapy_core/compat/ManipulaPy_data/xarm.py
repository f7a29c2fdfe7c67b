"""The UFACTORY xArm 6 that comes with the library."""

from . import get_robot_urdf

urdf_file = get_robot_urdf("xarm6")
"""Path of its description."""

__all__ = ["urdf_file"]
