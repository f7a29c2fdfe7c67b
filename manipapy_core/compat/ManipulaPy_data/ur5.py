"""The Universal Robots UR5 that comes with the library."""

from . import get_robot_urdf

urdf_file = get_robot_urdf("ur5")
"""Path of its description."""

__all__ = ["urdf_file"]
