"""The UFACTORY xArm 6 that comes with the library."""

from pathlib import Path

from ... import model

urdf_file = str(Path(model.__file__).parent / "robots" / "xarm6.urdf")
"""Path of its description."""

__all__ = ["urdf_file"]
