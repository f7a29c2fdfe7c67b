"""Finds the text of a robot description: a bundled robot, a file, a xacro file, or a text as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, ModelError, ModelFileNotFound
from .packages import PackageSearch
from .urdf.xml import LARGEST_DOCUMENT, decode

_ROBOTS = Path(__file__).parent / "robots"
_BLANK = "\ufeff \t\r\n"
_ROOT = re.compile(r"(?:\s|\ufeff|<\?.*?\?>|<!--.*?-->)*<([\w:.-]+)", re.DOTALL)
# Elements that make a file one for xacro, whatever its name; a call of a macro alone is a leftover.
_XACRO_ELEMENT = re.compile(r"<xacro:(property|macro|include|arg|if|unless|insert_block|call)\b")


@dataclass(frozen=True)
class LocatedText:
    """The text of a description and where it came from."""

    text: str
    """With xacro already expanded."""
    label: str
    """Short name that starts a message about a line of `text`."""
    source: str
    """Full name for the headline of an error."""
    path: str | None
    """The file; None for a text."""
    search: PackageSearch
    """Where its packages and meshes are."""
    limits: Path | None = None
    """The limits file that belongs to a bundled robot."""
    flaws: tuple[str, ...] = ()
    """What xacro met that is wrong but leaves a robot."""

    @property
    def root(self) -> str:
        """Tag of the outermost element; empty when there is none."""
        found = _ROOT.match(self.text)
        return found.group(1) if found else ""


def bundled_robots() -> tuple[str, ...]:
    """Names of the robots that come with the library."""
    return tuple(sorted(path.stem for path in _ROBOTS.glob("*.urdf")))


def locate(
    source: str | os.PathLike[str],
    xacro_args: Mapping[str, str] | None = None,
    *,
    xacro_env: Mapping[str, str] | None = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> LocatedText:
    """Fetch the text of a robot description.

    Args:
        source: A bundled name (`"ur5"`), a path, or an XML text. A bundled name wins over a file of the same
            name in the current folder; write `./ur5` for the file.
        xacro_args: Arguments for xacro; giving them, even empty, has a text expanded too.
        xacro_env: Variables that `$(env ...)` may read; none unless given.
        package_paths: Package folders, or folders that contain them.

    Raises:
        ModelError: Not found (then also a FileNotFoundError), not readable, or xacro failed.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"source is a {type(source).__name__}; give a bundled name, a path, or an XML text")
    if isinstance(source, str):
        stripped = source.lstrip(_BLANK)
        if not stripped:
            raise InputError("source is empty; give a bundled name, a path, or an XML text")
        if stripped.startswith("<"):
            located = LocatedText(source, "text", "text", None, PackageSearch(None, package_paths))
            # A text may come over the network; it does not decide itself that files are read for it.
            return located if xacro_args is None else _expanded(located, xacro_args, xacro_env)
        if source in bundled_robots():
            if xacro_args:
                raise InputError(f"the bundled robot {source!r} takes no xacro_args; leave them out")
            path = _ROBOTS / f"{source}.urdf"
            limits = path.with_suffix(".limits.yaml")
            text = decode(path.read_bytes(), path.name, source)
            search = PackageSearch(str(path), package_paths)
            return LocatedText(text, path.name, source, str(path), search, limits if limits.exists() else None)
    return _from_file(os.fspath(source), xacro_args, xacro_env, package_paths)


def _from_file(
    name: str,
    xacro_args: Mapping[str, str] | None,
    xacro_env: Mapping[str, str] | None,
    package_paths: Sequence[str | os.PathLike[str]],
) -> LocatedText:
    path = Path(name)
    try:
        exists, is_file = path.exists(), path.is_file()
    except (OSError, ValueError) as error:
        raise ModelError(
            _shortened(name), [f"is not a usable path ({error}); give a bundled name or a file"]
        ) from error
    if not exists:
        bundled = ", ".join(bundled_robots()) or "none"
        cure = f"correct the path or choose a bundled robot: {bundled}"
        raise ModelFileNotFound(_shortened(name), f"no such file and no bundled robot of that name; {cure}")
    if not is_file:
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise ModelError(name, [f"is {kind}; give the .urdf or .xacro file itself"])
    try:
        size = path.stat().st_size
        if size > LARGEST_DOCUMENT:
            raise ModelError(name, [f"has {size} bytes, more than {LARGEST_DOCUMENT}; give a robot description"])
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(name, [f"cannot be read: {error.strerror}; check the permissions of the file"]) from error
    text = decode(data, path.name, name)
    search = PackageSearch(str(path.absolute()), package_paths)
    located = LocatedText(text, path.name, name, str(path.absolute()), search)
    if path.suffix == ".xacro" or xacro_args is not None or _XACRO_ELEMENT.search(text):
        return _expanded(located, xacro_args or {}, xacro_env)
    return located


def _expanded(located: LocatedText, xacro_args: Mapping[str, str], xacro_env: Mapping[str, str] | None) -> LocatedText:
    # Imported late: few robots come as xacro.
    from .xacro.expand import expand

    text, flaws = expand(
        located.text,
        label=located.label,
        source=located.source,
        path=located.path,
        search=located.search,
        arguments=xacro_args,
        environment=xacro_env or {},
    )
    label = f"{located.label} (expanded by xacro)"
    return LocatedText(text, label, located.source, located.path, located.search, flaws=flaws)


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}..."
