"""`PackageResolver`: paths of the files that a description refers to, over the package search of `Robot`.

Intended difference from ManipulaPy: where a package may lie is what `Robot.from_urdf` permits, one rule for all.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from ..errors import InputError
from ..model.packages import PACKAGE_NAME, Folder, PackageSearch

SEARCH_PATH_VARIABLE = "MANIPULAPY_PACKAGE_PATH"
"""Environment variable with more search paths."""
_PACKAGE, _FILE = "package://", "file://"

logger = logging.getLogger("ManipulaPy.urdf.resolver")


class PackageResolver:
    """Finds the files behind `package://`, `file://` and relative references; what is not found stays as it is.

    Args:
        base_path: Folder of the description.
        package_map: Folders of packages by name; they come before all others.
        search_paths: Package folders, or folders that contain packages.
        use_ros: Whether ROS_PACKAGE_PATH and AMENT_PREFIX_PATH count.
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str] | None = None,
        package_map: Mapping[str, str | os.PathLike[str]] | None = None,
        search_paths: Iterable[str | os.PathLike[str]] | None = None,
        use_ros: bool = True,
    ):
        self.base_path = None if base_path is None else Path(base_path)
        self.use_ros = use_ros
        self._packages: dict[str, Path] = {}
        self._search_paths: list[Path] = []
        self._search: PackageSearch | None = None
        for name, path in (package_map or {}).items():
            self.add_package(name, path)
        named = os.environ.get(SEARCH_PATH_VARIABLE, "").split(os.pathsep)
        for folder in (*(search_paths or ()), *(Path(path) for path in named if path and os.path.isdir(path))):
            self.add_search_path(folder)

    @classmethod
    def for_urdf(cls, urdf_path: str | os.PathLike[str]) -> PackageResolver:
        """A resolver for one description file."""
        return cls(Path(urdf_path).absolute().parent)

    def add_package(self, name: str, path: str | os.PathLike[str]) -> None:
        """Sets the folder of a package."""
        if not PACKAGE_NAME.fullmatch(name):
            raise InputError(f"{name!r} is no name of a package; use letters, digits, underscores, points and hyphens")
        self._packages[name] = Path(path)

    def add_search_path(self, path: str | os.PathLike[str]) -> None:
        """Adds a package folder, or a folder that contains packages."""
        folder = Path(path)
        if not folder.is_dir():
            raise InputError(f"search path {os.fspath(path)!r} is not a folder; correct or remove it")
        if folder not in self._search_paths:
            self._search_paths.append(folder)
            self._search = None

    def list_packages(self) -> dict[str, Path]:
        """Folders that were set by name."""
        return dict(self._packages)

    def list_search_paths(self) -> list[Path]:
        """Folders in which packages are looked for, besides those around the description."""
        return list(self._search_paths)

    def create_handler(self) -> Callable[[str], str]:
        """`resolve` as a function."""
        return self.resolve

    def resolve(self, uri: str) -> str:
        """Path of the file behind a reference; the reference itself, with a warning, if it leads nowhere allowed."""
        if uri.startswith(_PACKAGE):
            return self._in_package(uri)
        if uri.startswith(_FILE):
            return unquote(uri[len(_FILE) :].removeprefix("localhost"))
        if "://" in uri or os.path.isabs(uri) or self.base_path is None:
            return uri
        place = self.base_path / uri
        if not self._searched.allows(str(place)):
            logger.warning("%r leads out of the folder of the description; it is not followed", uri)
            return uri
        return str(place)

    def _in_package(self, uri: str) -> str:
        name, _, path = uri[len(_PACKAGE) :].partition("/")
        if not name or not path:
            logger.warning("malformed reference %r; write package://name/path", uri)
            return uri
        if ".." in path.split("/") or not PACKAGE_NAME.fullmatch(name):
            logger.warning("path traversal or no package name in %r; it is not followed", uri)
            return uri
        places = [str(folder / path) for folder, links in self._folders(name) if _is_file_inside(folder, path, links)]
        if not places:
            logger.warning("no file for %r; add_package or add_search_path names the folder of the package", uri)
            return uri
        given = [place for place in places if any(Path(place).is_relative_to(top) for top in self._search_paths)]
        if len({os.path.realpath(place) for place in given}) > 1:
            logger.warning("multiple files for %r: %s; choose with add_package", uri, ", ".join(given))
            return uri
        return places[0]

    def _folders(self, name: str) -> list[tuple[Path, bool]]:
        """Folders of a package, best first, and whether symbolic links in them may lead out."""
        if name in self._packages:
            return [(self._packages[name], False)]
        return [(Path(folder.path), folder.follow_links) for folder in self._searched.packages(name)]

    @property
    def _searched(self) -> PackageSearch:
        if self._search is None:
            base = None if self.base_path is None else str(self.base_path)
            self._search = PackageSearch(base, self._search_paths, use_environment=self.use_ros)
        return self._search


def _is_file_inside(folder: Path, path: str, follow_links: bool) -> bool:
    place = folder / path
    return place.is_file() and Folder(str(folder), follow_links).holds(str(place))
