"""Finds ROS packages and the files of a description, without being told where they are.

A description may come over the network, so a reference is never trusted. It is followed into the description's own
tree, into packages that stand beside it or are given, into those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and nowhere
else.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import InputError

PACKAGE_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_MARKS = ("package.xml", "manifest.xml", "model.config")
_NAME_IN_MARK = re.compile(rb"<name>\s*([\w.-]+)\s*</name>")
# Folders of a package that descriptions stand in.
_LAYOUT = ("urdf", "robots", "robot", "xacro", "sdf", "mjcf", "description", "model", "models", "config")
_MESH_FOLDERS = ("meshes", "mesh", "assets")
_LEVELS_UP = 6
_LEVELS_DOWN = 2
# Longest end of a path, in folders, that is looked for in the own tree.
_TAIL = 5
_SCANNED_FOLDERS = 1500
_SKIPPED = ("build", "install", "log", "node_modules", "site-packages", "__pycache__")


@dataclass(frozen=True)
class Folder:
    """A folder that files may be read from."""

    path: str
    follow_links: bool
    """Whether a symbolic link inside it may lead out of it."""

    def holds(self, path: str) -> bool:
        """Whether a path lies inside."""
        if self.follow_links:
            return _is_inside(os.path.abspath(path), os.path.abspath(self.path))
        return _is_inside(os.path.realpath(path), os.path.realpath(self.path))


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


class PackageSearch:
    """Where the packages of one description are."""

    def __init__(
        self,
        description: str | None,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        *,
        use_environment: bool = True,
    ) -> None:
        """Fix the folders that may be read.

        Args:
            description: Folder of the description, or the file itself; None when it is a text.
            package_paths: Package folders, or folders that contain them.
            use_environment: Whether ROS_PACKAGE_PATH and AMENT_PREFIX_PATH count.

        Raises:
            InputError: A package path is not a folder.
        """
        self._use_environment = use_environment
        if isinstance(package_paths, (str, os.PathLike)):
            raise InputError(f"package_paths is {package_paths!r}; give a list of folders, also for a single one")
        self.given = [os.path.abspath(path) for path in package_paths]
        for path in self.given:
            if not os.path.isdir(path):
                raise InputError(f"package_paths holds {path!r}, which is not a folder; correct or remove it")
        self.starts: list[str] = []
        """Folders of the description: where it was opened, and where a symbolic link to it leads."""
        if description is not None:
            for path in (os.path.abspath(description), os.path.realpath(description)):
                folder = path if os.path.isdir(path) else os.path.dirname(path)
                if folder not in self.starts:
                    self.starts.append(folder)
        self._found: dict[str, list[Folder]] = {}
        self._indices: dict[str, dict[str, list[str]]] = {}

    @cached_property
    def own_trees(self) -> list[str]:
        """The package of the description; without one, its folder, or the folder above `urdf/`, `robots/` and such."""
        return [_own_tree(start) for start in self.starts]

    @cached_property
    def inside_own_trees(self) -> list[str]:
        """The folders from that of the description up to its own tree, nearest first."""
        inside = [
            folder
            for start, tree in zip(self.starts, self.own_trees)
            for folder in _walk_up(start)
            if _is_inside(folder, tree)
        ]
        return list(dict.fromkeys(inside))

    def by_layout(self, path: str) -> str | None:
        """The file that the end of a path names inside the own tree: sources lie elsewhere than installed files."""
        parts = os.path.normpath(path).split(os.sep)
        for first in range(max(len(parts) - _TAIL, 0), len(parts) - 1):
            for folder in self.inside_own_trees:
                place = os.path.join(folder, *parts[first:])
                if ".." not in parts and os.path.isfile(place) and self.allows(place):
                    return place
        return None

    @cached_property
    def _environment(self) -> list[Folder]:
        if not self._use_environment:
            return []
        roots = [path for path in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if path]
        prefixes = [path for path in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if path]
        # `colcon build --symlink-install` makes every installed file a link into the source tree. The user
        # built and sourced that workspace, so its links are followed; `..` still cannot leave it.
        folders = [Folder(os.path.abspath(path), follow_links=False) for path in roots]
        return folders + [Folder(os.path.join(os.path.abspath(path), "share"), follow_links=True) for path in prefixes]

    def allows(self, path: str) -> bool:
        """Whether a file may be read: in the own tree, a given folder, the environment, or a package found before."""
        own = (Folder(folder, follow_links=False) for folder in (*self.own_trees, *self.given))
        found = (folder for folders in self._found.values() for folder in folders)
        return any(folder.holds(path) for folder in (*own, *self._environment, *found))

    def packages(self, name: str) -> list[Folder]:
        """Folders of the package of this name, best first; empty when there is none."""
        if name not in self._found:
            unique = {os.path.realpath(folder.path): folder for folder in reversed(list(self._search(name)))}
            self._found[name] = list(reversed(unique.values()))
        return self._found[name]

    def _search(self, name: str) -> Iterator[Folder]:
        for given in self.given:
            if os.path.basename(given) == name or _package_name(given) == name:
                yield Folder(given, follow_links=False)
            if os.path.isdir(os.path.join(given, name)):
                yield Folder(os.path.join(given, name), follow_links=False)
            yield from (Folder(path, follow_links=False) for path in self._index(given).get(name, ()))
        near = list(self._near(name))
        yield from near
        if not near:
            for above in self._ancestors:
                listed = self._index(above).get(name, ())
                yield from (Folder(path, follow_links=False) for path in listed)
                if listed:
                    break
        for root in self._environment:
            if os.path.isdir(os.path.join(root.path, name)):
                yield Folder(os.path.join(root.path, name), root.follow_links)
            elif not root.follow_links:  # of ROS 1: packages stand anywhere below
                yield from (Folder(path, follow_links=False) for path in self._index(root.path).get(name, ()))

    @cached_property
    def _ancestors(self) -> list[str]:
        """Folders above the description, nearest first, without home, the temporary folder and the root."""
        return list(dict.fromkeys(above for start in self.starts for above in _walk_up(start)))

    def _near(self, name: str) -> Iterator[Folder]:
        for above in self._ancestors:
            if os.path.basename(above) == name or _package_name(above) == name:
                yield Folder(above, follow_links=False)
            elif not _is_no_project(above) and os.path.isdir(os.path.join(above, name)):
                yield Folder(os.path.join(above, name), follow_links=False)
        # In a folder such as home, only what says that it is a package.
        for start in self.starts:
            beside = os.path.join(os.path.dirname((_walk_up(start) or [start])[-1]), name)
            if _package_name(beside) == name:
                yield Folder(beside, follow_links=False)

    def _index(self, top: str) -> dict[str, list[str]]:
        """Packages at most two levels below a folder, by the name of the folder and by that in package.xml."""
        if top not in self._indices:
            packages: dict[str, list[str]] = {}
            level, seen = [top], 0
            for _ in range(_LEVELS_DOWN):
                below: list[str] = []
                for folder in level:
                    below += _subfolders(folder)
                    seen += 1
                    if seen > _SCANNED_FOLDERS:
                        break
                for folder in below:
                    name = _package_name(folder)
                    if name is not None:
                        for key in dict.fromkeys((name, os.path.basename(folder))):
                            packages.setdefault(key, []).append(folder)
                level = below
            self._indices[top] = packages
        return self._indices[top]


def _is_no_project(folder: str) -> bool:
    """Whether a folder is no project: the root, home, or where temporary files are."""
    ends = (os.sep, os.path.expanduser("~"), tempfile.gettempdir())
    return os.path.realpath(folder) in {os.path.realpath(path) for path in ends}


def _walk_up(start: str) -> list[str]:
    """A folder and those above it, as far as they can be taken for one project."""
    folders: list[str] = []
    while len(folders) < _LEVELS_UP and not (folders and _is_no_project(start)):
        folders.append(start)
        start = os.path.dirname(start)
    return folders


def _own_tree(start: str) -> str:
    above = _walk_up(start)
    for folder in above:
        if any(os.path.isfile(os.path.join(folder, mark)) for mark in _MARKS):
            return folder
    for folder in above[3::-1]:
        if os.path.basename(folder) in _LAYOUT and os.path.dirname(folder) in above:
            return os.path.dirname(folder)
    if len(above) > 1 and any(os.path.isdir(os.path.join(above[1], name)) for name in _MESH_FOLDERS):
        return above[1]
    return start


def _package_name(folder: str) -> str | None:
    """What the package.xml of a folder says; None without one."""
    for mark in _MARKS:
        try:
            with open(os.path.join(folder, mark), "rb") as file:
                found = _NAME_IN_MARK.search(file.read(20_000))
        except OSError:
            continue
        if found is not None and mark == _MARKS[0]:
            return found.group(1).decode("ascii", "replace")
        return os.path.basename(folder)
    return None


def _subfolders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                entry.path
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name not in _SKIPPED
            )
    except OSError:
        return []
