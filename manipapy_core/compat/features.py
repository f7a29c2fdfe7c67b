"""Which optional parts of the library can be used on this machine, under ManipulaPy's names."""

from __future__ import annotations

import importlib.util

from ..errors import InputError, MissingPackage

PACKAGES = {
    "core": ("numpy", "scipy", "numba"),
    "urdf": ("trimesh",),
    "plotting": ("matplotlib",),
    "simulation": ("pybullet",),
    "vision": ("cv2",),
    "ml": ("numpy",),
    "cuda": ("cupy",),
}
"""Packages that a feature needs. Clustering ("ml") needs no other package here."""

EXTRAS = {"urdf": "collision", "plotting": "plots", "simulation": "sim", "vision": "perception", "cuda": "gpu"}
"""Extras of this library by feature."""


def check_dependencies(verbose: bool = True) -> dict[str, bool]:
    """Whether each feature can be used.

    Args:
        verbose: Also print it.
    """
    found = {
        feature: all(importlib.util.find_spec(name) is not None for name in names)
        for feature, names in PACKAGES.items()
    }
    if verbose:
        for feature, available in found.items():
            print(f"{feature:<12}{'available' if available else 'missing: ' + get_installation_command(feature)}")
    return found


def get_available_features() -> list[str]:
    """Features that can be used."""
    return [feature for feature, available in check_dependencies(verbose=False).items() if available]


def get_missing_features() -> list[str]:
    """Features that lack a package."""
    return [feature for feature, available in check_dependencies(verbose=False).items() if not available]


def require_feature(feature: str) -> None:
    """Nothing if a feature can be used.

    Raises:
        ImportError: It lacks a package; the message says how to install it.
    """
    if feature not in PACKAGES:
        raise InputError(f"no feature {feature!r}; there are: {', '.join(PACKAGES)}")
    if feature in get_missing_features():
        raise MissingPackage(", ".join(PACKAGES[feature]), feature, EXTRAS.get(feature, "all"))


def get_installation_command(feature: str | None = None) -> str:
    """The command that installs a feature; all missing ones if none is named."""
    wanted = get_missing_features() if feature is None else [feature]
    extras = sorted({EXTRAS[name] for name in wanted if name in EXTRAS})
    return f"pip install 'manipapy[{','.join(extras)}]'" if extras else "pip install manipapy"


def get_version() -> str:
    """The version of ManipulaPy whose documented names are here."""
    return "1.4.2"
