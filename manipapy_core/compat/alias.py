"""Runs programs that import ManipulaPy unchanged: its name becomes another name of `manipapy_core.compat`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

from ..errors import InputError

NAME, TARGET = "ManipulaPy", __package__
SUBMODULES = {
    "backend.base": "array_backend",
    "backend.numpy_backend": "array_backend",
    "control.manipulator_controller": "control",
    "cuda_kernels.field_kernels": "cuda_kernels",
    "cuda_kernels.trajectory_kernels": "cuda_kernels",
    "dynamics.manipulator_dynamics": "dynamics",
    "kinematics.ik_helpers": "ik_helpers",
    "kinematics.serial_manipulator": "kinematics",
    "kinematics.trac_ik": "trac_ik",
    "planning": "path_planning",
    "planning.trajectory_planning": "path_planning",
    "potential_field.adjacency": "potential_field",
    "potential_field.collision": "potential_field",
    "potential_field.fields": "potential_field",
    "sim.simulation": "sim",
    "singularity.singularity_analysis": "singularity",
    "urdf.core": "urdf_document",
    "urdf.modifiers": "urdf_modifier",
    "urdf.resolver": "package_resolver",
    "urdf.scene": "urdf_scene",
    "urdf.validation": "urdf_document",
    "utils.screw": "utils",
    "utils.se3": "utils",
    "utils.so3": "utils",
    "utils.time_scaling": "utils",
}
"""Modules of ManipulaPy that are packages there and files here: the module that has the names of each."""
PACKAGES = {name.rpartition(".")[0] for name in SUBMODULES}


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `ManipulaPy.x` as `manipapy_core.compat.x`: one module under two names, so its classes exist once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        # `from ManipulaPy.potential_field import fields` asks for a submodule by the own name of the module.
        aliased = fullname.startswith(f"{TARGET}.") and fullname[len(TARGET) + 1 :] in SUBMODULES
        if fullname != NAME and not fullname.startswith(f"{NAME}.") and not aliased:
            return None
        found = importlib.util.find_spec(_target(fullname))
        if found is None:
            return None
        is_package = found.submodule_search_locations is not None or _rest(fullname) in PACKAGES
        return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_target(spec.name))
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the spec of the alias in place; relative imports need the module's own.
        module.__spec__ = self._own_spec


def _rest(fullname: str) -> str:
    """A name without that of the package."""
    return fullname.removeprefix(NAME).removeprefix(TARGET).removeprefix(".")


def _target(fullname: str) -> str:
    """The module here that has the names of a module of ManipulaPy."""
    rest = _rest(fullname)
    return f"{TARGET}.{SUBMODULES.get(rest, rest)}" if rest else TARGET


_FINDER = _AliasFinder()


def install(*, replace: bool = False) -> None:
    """Lets `import ManipulaPy` and `from ManipulaPy.kinematics import …` find this package; a second call does nothing.

    A whole program runs unchanged with `python -m manipapy_core.compat program.py`.

    Args:
        replace: Use this package even where ManipulaPy itself is installed.

    Raises:
        InputError: ManipulaPy is installed or imported, and `replace` is not given.
    """
    if _FINDER in sys.meta_path:
        return
    present = NAME in sys.modules or importlib.util.find_spec(NAME) is not None
    if present and not replace:
        raise InputError(f"{NAME} is installed; remove it, or call install(replace=True) to use {TARGET} in its place")
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Undoes `install`; modules that were imported under the other name are forgotten."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
        for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
            del sys.modules[name]
