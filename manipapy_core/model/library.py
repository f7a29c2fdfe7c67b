"""Finds the text of a robot description: a bundled robot, a file, a xacro file, or a text as it is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, ModelError, ModelFileNotFound
from .urdf.xml import decode, parse_xml

_ROBOTS = Path(__file__).parent / "robots"
_XACRO_PREFIX = "xacro:"


@dataclass(frozen=True)
class LocatedText:
    """The text of a description and where it came from."""

    text: str
    """URDF, with xacro already expanded."""
    label: str
    """Short name that starts a message about a line of `text`."""
    source: str
    """Full name for the headline of an error."""
    folder: str | None
    """Where relative mesh paths start; None for a text."""
    limits: Path | None
    """The limits file that belongs to a bundled robot."""


def bundled_robots() -> tuple[str, ...]:
    """Names of the robots that come with the library."""
    return tuple(sorted(path.stem for path in _ROBOTS.glob("*.urdf")))


def locate(source: str | os.PathLike[str], xacro_args: Mapping[str, str] | None = None) -> LocatedText:
    """Fetch the text of a robot description.

    Args:
        source: A bundled name (`"ur5"`), a path, or an XML text. A bundled name wins over a file of the same
            name in the current folder; write `./ur5` for the file.
        xacro_args: Arguments for xacro; giving them, even empty, allows a text or a `.urdf` file to be
            expanded.

    Raises:
        ModelError: Not found (then also a FileNotFoundError), not readable, or xacro failed.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"source is a {type(source).__name__}; give a bundled name, a path, or an XML text")
    if isinstance(source, str):
        stripped = source.lstrip("\ufeff \t\r\n")
        if not stripped:
            raise InputError("source is empty; give a bundled name, a path, or an XML text")
        if stripped.startswith("<"):
            return _from_text(source, xacro_args)
        if source in bundled_robots():
            if xacro_args:
                raise InputError(f"the bundled robot {source!r} takes no xacro_args; leave them out")
            path = _ROBOTS / f"{source}.urdf"
            limits = path.with_suffix(".limits.yaml")
            text = decode(path.read_bytes(), path.name, source)
            return LocatedText(text, path.name, source, str(_ROBOTS), limits if limits.exists() else None)
    return _from_file(os.fspath(source), xacro_args)


def _from_text(text: str, xacro_args: Mapping[str, str] | None) -> LocatedText:
    label = "text"
    if not _needs_xacro(text, label, label, xacro_args):
        return LocatedText(text, label, label, None, None)
    # Imported late: few robots come as xacro, and running another process needs half of the standard library.
    from .urdf.xacro import expand_text

    expanded = expand_text(text.lstrip("\ufeff \t\r\n"), label, xacro_args or {})
    return LocatedText(expanded, "text (expanded by xacro)", label, None, None)


def _from_file(name: str, xacro_args: Mapping[str, str] | None) -> LocatedText:
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
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(name, [f"cannot be read: {error.strerror}; check the permissions of the file"]) from error
    text = decode(data, path.name, name)
    folder = str(path.absolute().parent)
    if path.suffix != ".xacro" and not _needs_xacro(text, path.name, name, xacro_args):
        return LocatedText(text, path.name, name, folder, None)
    from .urdf.xacro import expand_file

    expanded = expand_file(path, name, xacro_args or {})
    return LocatedText(expanded, f"{path.name} (expanded by xacro)", name, folder, None)


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}..."


def _needs_xacro(text: str, label: str, source: str, xacro_args: Mapping[str, str] | None) -> bool:
    """Whether a description that is not called `.xacro` is to be expanded.

    Expanding runs expressions that can read files and the environment, so it wants a word from the user: the
    file name, or arguments. A description that came over the network must not be able to ask for it itself.
    """
    if xacro_args is not None:
        return True
    if _XACRO_PREFIX not in text:
        return False
    for element in parse_xml(text, label, source).walk():
        if element.tag.startswith(_XACRO_PREFIX):
            raise ModelError(
                source,
                [
                    f"{label}:{element.line}: <{element.tag}> must be expanded by xacro first; pass "
                    "xacro_args={} if you trust this description, or save it under a name that ends in .xacro"
                ],
            )
    return False
