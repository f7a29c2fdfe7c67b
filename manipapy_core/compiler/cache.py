"""Cache on disk of compiled kernels and other computed data, shared by all processes of a user.

There are two kinds of files. An **object** (machine code, a seed table, the spheres of a robot) is named by the
program that it was made from: for a kernel, the text of its LLVM IR and the processor. An **index entry** is named by
what the program was made from (a formula, the numbers of a robot) and lists the digests of the source files involved.
While these files are unchanged it leads to the object directly, so that a usual load neither traces nor compiles.
After a change of source that leaves the program the same, such as a comment, the kernel is traced again and its old
object found by name; LLVM is not called.

A file is a message authentication code and its content. It is written beside and renamed into place, so a reader gets
all of it or nothing; what does not pass the check is made again. The folder holds machine code that will be run, so
folder and files must belong to this user and be closed to others (`private_files`). When the folder grows beyond its
limit, the files not used for longest are removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import json
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import sources
from .private_files import MAC_SIZE, NotPrivate, mac, make_private_folder, read_private, user_cache_folder

FOLDER_VARIABLE = "MANIPAPY_CACHE_DIR"
LIMIT_VARIABLE = "MANIPAPY_CACHE_LIMIT"
DEFAULT_LIMIT = 1 << 30
"""Bytes."""
KERNEL, INDEX, SEEDS, BODY = ".kernel", ".index", ".seeds", ".geometry"
"""File name endings by content: machine code, index entry, seed table of inverse kinematics, covered robot body."""
_PARTIAL = ".part"
_ABANDONED = 3600.0
"""Age from which a partial file has no writer any more [s]."""
_MAGIC = b"manipapy kernel 2\n"


@dataclass(frozen=True)
class Entry:
    """One file of the cache."""

    path: Path
    size: int
    """[bytes]"""
    used: float
    """Time of the last use [s since the epoch]."""


def folder() -> Path:
    """Folder of the cache: $MANIPAPY_CACHE_DIR, or manipapy/ in the user's cache folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen) if chosen else user_cache_folder() / "manipapy"


def limit() -> int:
    """Largest total size [bytes]: $MANIPAPY_CACHE_LIMIT, or 1 GiB."""
    chosen = os.environ.get(LIMIT_VARIABLE)
    if not chosen:
        return DEFAULT_LIMIT
    if chosen.isdecimal():
        return int(chosen)
    _warn_once(f"{LIMIT_VARIABLE} is {chosen!r}, not a number of bytes; {DEFAULT_LIMIT} is used")
    return DEFAULT_LIMIT


def load(
    name: str,
    inputs: Sequence[str] | None,
    modules: Iterable[str],
    program: Callable[[], str | None],
    build: Callable[[str], bytes],
    ending: str = KERNEL,
) -> bytes:
    """Object of a program, from the cache or newly built.

    Args:
        name: Beginning of the file names.
        inputs: What the program is made from besides source code; None if that cannot be stated, so that the program
            must be made every time.
        modules: Modules that make the program. They and all that they import count as its source.
        program: Makes the text that identifies the object; None if nothing does, and the object is not to be kept.
        build: Makes the object from that text; called only if no file has it.
        ending: Of the object's file name.
    """
    entry = None if inputs is None else _name(name, [*inputs, *modules], INDEX)
    kept = None if entry is None else _follow(entry)
    if kept is not None:
        return kept
    text = program()
    if text is None:
        return build("")
    target = _name(name, [text], ending)
    code = read(target)
    if code is None:
        code = build(text)
        write(target, code)
    digests = None if entry is None else sources.digests(sources.imported(modules))
    if entry is not None and digests is not None:
        write(entry, json.dumps({"object": target, "sources": digests}).encode())
    return code


def load_data(
    name: str, inputs: Sequence[str], module: str, folders: tuple[str, ...], build: Callable[[], bytes], ending: str
) -> bytes:
    """Data that a module computes from some inputs, from the cache or newly built.

    Args:
        module: Makes the data. It is made again when code of the module changes, or of what it imports from `folders`;
            comments and docstrings are not code.
        folders: Folders of this package.
    """

    def program() -> str | None:
        digest = sources.code_digest([module], folders)
        return None if digest is None else "\0".join([digest, *inputs])

    return load(name, inputs, [module], program, lambda _: build(), ending)


def _name(name: str, parts: Sequence[str], ending: str) -> str:
    """File name: readable, and different whenever any part differs."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{name}-{digest[:32]}{ending}"


def _follow(entry: str) -> bytes | None:
    """The object that an index entry leads to; None if there is none or a source file has changed."""
    content = read(entry)
    if content is None:
        return None
    found = json.loads(content)
    return read(found["object"]) if sources.digests(found["sources"]) == found["sources"] else None


def read(name: str) -> bytes | None:
    """Content of a file, marked as used; None if there is none that can be trusted."""
    path = folder() / name
    try:
        content = read_private(path)
        header, code = content[: len(_MAGIC) + MAC_SIZE], content[len(_MAGIC) + MAC_SIZE :]
        if not hmac.compare_digest(header, _MAGIC + mac(path.parent, name, code)):
            return None
    except NotPrivate as error:
        _warn_once(f"compiled kernels in {path.parent} are not used: {error}")
        return None
    except OSError:
        return None
    with contextlib.suppress(OSError):  # a folder that can only be read
        os.utime(path)
    return code


def write(name: str, code: bytes) -> None:
    """Keeps a file. A folder that cannot be written to costs a warning, and a compilation next time."""
    target = folder()
    try:
        make_private_folder(target)
        header = _MAGIC + mac(target, name, code)
        handle, temporary = tempfile.mkstemp(dir=target, prefix=".", suffix=_PARTIAL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header + code)
            os.replace(temporary, target / name)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        _warn_once(f"compiled kernels are not kept: {error}; set {FOLDER_VARIABLE} to a folder of your own")
        return
    _TRIMMER.written(target, len(code))


def entries() -> list[Entry]:
    """All files of the cache, the least recently used first."""
    return [entry for entry in _files(folder()) if entry.path.suffix != _PARTIAL]


def clear() -> int:
    """Removes all files of the cache; returns how many there were. Other processes keep what they have loaded."""
    return sum(_remove(entry.path) for entry in _files(folder()))


def trim(target: Path, most: int) -> int:
    """Removes the least recently used files until at most this many bytes are left; returns the bytes left."""
    files = _files(target)
    left = sum(entry.size for entry in files)
    for entry in files:
        abandoned = entry.path.suffix == _PARTIAL and time.time() - entry.used > _ABANDONED
        too_much = left > most and entry.path.suffix != _PARTIAL
        if (abandoned or too_much) and _remove(entry.path):
            left -= entry.size
    return left


class _Trimmer:
    """Trims the folder after writing, without listing it every time."""

    SLACK = 16
    """The folder is trimmed to the limit less one part in this many, and listed after as much has been written."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._room: dict[Path, int] = {}
        """Bytes that may still be written by this process before the folder is listed again."""

    def written(self, target: Path, size: int) -> None:
        most = limit()
        with self._lock:
            self._room[target] = self._room.get(target, 0) - size
            if self._room[target] < 0:
                left = trim(target, most)
                if left > most - most // self.SLACK:
                    left = trim(target, most - most // self.SLACK)
                # Other processes write, too: never rely on all of the room.
                self._room[target] = min(most - left, most // self.SLACK)


_TRIMMER = _Trimmer()


def _files(target: Path) -> list[Entry]:
    """Files that the cache wrote, the least recently used first; others that lie in the folder are left out."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(target) as listing:
        for item in listing:
            if item.name.endswith((KERNEL, INDEX, SEEDS, BODY, _PARTIAL)):
                with contextlib.suppress(FileNotFoundError):  # removed by another process
                    status = item.stat(follow_symlinks=False)
                    found.append(Entry(Path(item.path), status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: entry.used)


def _remove(path: Path) -> bool:
    """True if this call removed the file; another process may have been faster."""
    try:
        path.unlink()
    except OSError:
        return False
    return True


@functools.cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
