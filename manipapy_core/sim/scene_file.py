"""Reads scenes from YAML files; errors list all problems of a file at once.

```yaml
robot: {xyz: [0, 0, 0], rpy: [0, 0, 0]}   # pose of the robot's root link; default: the world's origin
objects:
  - name: cup
    type: cylinder            # box, cylinder, sphere, mesh, plane, table
    radius: 0.04              # box and table: size [x, y, z]; sphere: radius; mesh: file, scale
    length: 0.1
    xyz: [0.5, 0.1, 0.05]     # m, in the world
    rpy: [0, 0, 0]            # rad, about the fixed axes x, y, z
    mass: 0.2                 # kg; default: fixed in the world
    colour: [0.8, 0.2, 0.2]   # red, green, blue and optional opacity, 0 to 1
    texture: speckle          # plain, checker, speckle, wood
    friction: 0.8
```
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MeshNotFound
from ..model.elements import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry, transform_from_xyz_rpy
from ..model.meshes import MeshFinder
from ..model.urdf.report import did_you_mean, parse_number
from ..typing import Array
from .errors import SceneError, SceneNotFound
from .scene import GroundPlane, ObjectShape, Scene, SceneObject, Table, Texture

SHAPE_KEYS = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "mesh": ("file", "scale"),
    "plane": (),
    "table": ("size",),
}
COMMON_KEYS = ("name", "type", "xyz", "rpy", "mass", "colour", "texture", "friction")
ORIGIN = (0.0, 0.0, 0.0)
PLACEHOLDER = 0.5
"""In place of an invalid number, so that the same problem is not reported twice."""


def read_scene(source: str | os.PathLike[str], *, package_paths: Sequence[str | os.PathLike[str]] = ()) -> Scene:
    """Read a scene file.

    Args:
        source: Path of a YAML file, or the name of a bundled scene (`"table"`).
        package_paths: Search paths of `package://` mesh references; plain paths are relative to the file.

    Raises:
        SceneError: Lists every problem; also a FileNotFoundError when there is no such file.
    """
    path = _locate(os.fspath(source))
    document = _load(path)
    finder = MeshFinder(str(path.absolute().parent), package_paths)
    problems: list[str] = []
    T_world_base = np.eye(4)
    objects: list[SceneObject] = []
    if not isinstance(document, Mapping):
        raise SceneError(str(path), ["the file is not a mapping; write objects: and a list below it"])
    for key in document:
        if key not in ("robot", "objects"):
            problems.append(f"key {key!r} is not known; {did_you_mean(str(key), ['robot', 'objects'])}")
    if "robot" in document:
        T_world_base = _robot_pose(document["robot"], problems)
    entries = document.get("objects") or []
    if not isinstance(entries, list):
        problems.append(f"objects is {type(entries).__name__}; write a list")
        entries = []
    for number, entry in enumerate(entries):
        try:
            objects.append(object_from_mapping(entry, meshes=finder))
        except SceneError as error:
            name = entry.get("name") if isinstance(entry, Mapping) else None
            problems += [f"objects[{number}]{f' {name!r}' if name else ''}: {problem}" for problem in error.problems]
    names = [entry.get("name") for entry in entries if isinstance(entry, Mapping)]
    for name in dict.fromkeys(name for name in names if isinstance(name, str)):
        if names.count(name) > 1:
            problems.append(f"{names.count(name)} objects are named {name!r}; give each a unique name")
    if problems:
        raise SceneError(str(path), problems)
    return Scene(path.stem, tuple(objects), T_world_base)


def object_from_mapping(entry: Any, *, meshes: MeshFinder | None = None) -> SceneObject:
    """One object from its mapping in a scene file.

    Args:
        entry: Name, type and so on; see the top of this file.
        meshes: Resolves mesh references; without it paths must be absolute.

    Raises:
        SceneError: Lists every problem of the object.
    """
    if not isinstance(entry, Mapping):
        raise SceneError("object", [f"is {entry!r}; write keys such as name and type"])
    reader = _Reader(entry)
    name, kind = reader.text("name"), reader.text("type")
    if kind and kind not in SHAPE_KEYS:
        reader.problems.append(f"type {kind!r} is not known; {did_you_mean(kind, list(SHAPE_KEYS))}")
    known = [*COMMON_KEYS, *SHAPE_KEYS.get(kind, ())]
    for key in entry:
        if key not in known and kind in SHAPE_KEYS:
            reader.problems.append(f"key {key!r} is not known for a {kind}; {did_you_mean(str(key), known)}")
    shape = reader.shape(kind, meshes)
    T_world_object = transform_from_xyz_rpy(reader.numbers("xyz", 3, ORIGIN), reader.numbers("rpy", 3, ORIGIN))
    mass = reader.number("mass", 0.0)
    if "mass" in entry and mass == 0.0:
        reader.problems.append("mass is 0; give a positive number of kg, or leave it out for a fixed object")
    item = SceneObject(
        name or "?", shape, T_world_object, mass, reader.colour(), reader.texture(), reader.number("friction", 1.0)
    )
    problems = reader.problems + item.problems()
    if problems:
        raise SceneError(f"object {name!r}" if name else "object", problems)
    return item


def bundled_scenes() -> dict[str, Path]:
    """Bundled scene files by name."""
    found: dict[str, Path] = {}
    for folder in _scene_folders():
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def _scene_folders() -> list[Path]:
    """The source tree, then where pip and colcon put data files."""
    prefixes = [sys.prefix, *filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))]
    installed = [Path(prefix) / "share/manipapy/config/scenes" for prefix in prefixes]
    return [Path(__file__).resolve().parents[2] / "config/scenes", *installed]


def _locate(source: str) -> Path:
    path = Path(source)
    if path.is_file():
        return path
    bundled = bundled_scenes()
    if source in bundled:
        return bundled[source]
    names = ", ".join(bundled) or "none"
    raise SceneNotFound(source, f"no such file and no bundled scene of that name; the bundled ones are: {names}")


def _load(path: Path) -> Any:
    import yaml  # optional: only scene files need it

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(str(path), [f"cannot be read: {error}"]) from error
    except yaml.YAMLError as error:
        raise SceneError(str(path), [f"malformed YAML: {' '.join(str(error).split())}"]) from error


def _robot_pose(entry: Any, problems: list[str]) -> Array:
    if not isinstance(entry, Mapping):
        problems.append(f"robot is {entry!r}; write xyz and rpy below it")
        return np.eye(4)
    reader = _Reader(entry)
    for key in entry:
        if key not in ("xyz", "rpy"):
            reader.problems.append(f"key {key!r} is not known; {did_you_mean(str(key), ['xyz', 'rpy'])}")
    T = transform_from_xyz_rpy(reader.numbers("xyz", 3, ORIGIN), reader.numbers("rpy", 3, ORIGIN))
    problems += [f"robot: {problem}" for problem in reader.problems]
    return T


class _Reader:
    """Reads values of one mapping and collects problems."""

    def __init__(self, entry: Mapping[Any, Any]):
        self._entry = entry
        self.problems: list[str] = []

    def text(self, key: str) -> str:
        value = self._entry.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        state = f"is {value!r}" if key in self._entry else "is missing"
        self.problems.append(f"{key} {state}; write one")
        return ""

    def number(self, key: str, default: float | None) -> float:
        if key not in self._entry:
            if default is None:
                self.problems.append(f"{key} is missing; write a number")
            return PLACEHOLDER if default is None else default
        return self._finite(key, self._entry[key])

    def numbers(self, key: str, count: int, default: Sequence[float] | None) -> list[float]:
        value = self._entry.get(key, default)
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != count:
            state = f"is {value!r}" if value is not None else "is missing"
            self.problems.append(f"{key} {state}; write a list of {count} numbers")
            return [PLACEHOLDER] * count
        return [self._finite(f"{key}[{index}]", element) for index, element in enumerate(value)]

    def _finite(self, label: str, written: Any) -> float:
        # YAML 1.1 reads 1e-3 (no dot) as text, and true is an int to Python.
        value = parse_number(written) if isinstance(written, str) else written
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.problems.append(f"{label} is {written!r}; write a finite number")
            return PLACEHOLDER
        return float(value)

    def colour(self) -> tuple[float, float, float, float]:
        value = self._entry.get("colour")
        if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 3:
            red, green, blue = self.numbers("colour", 3, None)
            return red, green, blue, 1.0
        red, green, blue, opacity = self.numbers("colour", 4, SceneObject.rgba)
        return red, green, blue, opacity

    def texture(self) -> Texture:
        value = self._entry.get("texture", Texture.PLAIN.value)
        known = [texture.value for texture in Texture]
        if value in known:
            return Texture(value)
        self.problems.append(f"texture is {value!r}; {did_you_mean(str(value), known)}")
        return Texture.PLAIN

    def shape(self, kind: str, meshes: MeshFinder | None) -> ObjectShape:
        if kind == "box":
            return BoxGeometry(np.array(self.numbers("size", 3, None)))
        if kind == "table":
            return Table(np.array(self.numbers("size", 3, None)))
        if kind == "cylinder":
            return CylinderGeometry(self.number("radius", None), self.number("length", None))
        if kind == "sphere":
            return SphereGeometry(self.number("radius", None))
        if kind == "plane":
            return GroundPlane()
        return self._mesh(meshes) if kind == "mesh" else SphereGeometry(PLACEHOLDER)

    def _mesh(self, meshes: MeshFinder | None) -> ObjectShape:
        uri, scale = self.text("file"), self.numbers("scale", 3, (1.0, 1.0, 1.0))
        try:
            if uri:
                return MeshGeometry(uri if meshes is None else meshes.find(uri), uri, np.array(scale))
        except MeshNotFound as error:
            self.problems.append(f"file {uri!r}: {error.reason}")
        return SphereGeometry(PLACEHOLDER)
