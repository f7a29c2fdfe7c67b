"""Robot descriptions under ManipulaPy's names: `URDF`, and what changes, combines and finds them."""

from __future__ import annotations

from ..model import JointType, Link
from ..model.elements import Joint
from .package_resolver import PackageResolver
from .urdf_document import URDF, ValidationResult, validate_urdf
from .urdf_modifier import URDFModifier, load_calibration, save_calibration
from .urdf_scene import Scene

__all__ = [
    "URDF",
    "Joint",
    "JointType",
    "Link",
    "PackageResolver",
    "Scene",
    "URDFModifier",
    "ValidationResult",
    "load_calibration",
    "save_calibration",
    "validate_urdf",
]
