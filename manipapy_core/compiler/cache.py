"""Compiled kernels on disk, shared by all processes of a user.

A file is a checksum and an object file. It is written beside and renamed into place, so a reader sees all of it or
nothing; whatever does not pass the checksum is compiled again. The folder holds machine code that will be run, so
it must belong to this user and be closed to others.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
import warnings
from pathlib import Path

VARIABLE = "MANIPAPY_CACHE_DIR"
_MAGIC = b"manipapy kernel 1\n"
_DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """Where kernels are kept: $MANIPAPY_CACHE_DIR, or manipapy/ in the user's cache folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "manipapy"


def name_for(kernel: str, *parts: str) -> str:
    """File name of a kernel: readable, and different whenever any part differs."""
    digest = hashlib.sha256("\0".join([kernel, source_digest(), *parts]).encode()).hexdigest()
    return f"{kernel}-{digest[:32]}.kernel"


@functools.cache
def source_digest() -> str:
    """Changes with every change of the compiler itself, so that no stale code is ever run."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read(name: str) -> bytes | None:
    """The object file, or None if there is none that can be trusted."""
    path = folder() / name
    try:
        if not _private(path):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    header, code = content[: len(_MAGIC) + _DIGEST], content[len(_MAGIC) + _DIGEST :]
    return code if header == _MAGIC + hashlib.sha256(code).digest() else None


def write(name: str, code: bytes) -> None:
    """Keeps an object file; a folder that cannot be written costs a warning and a compilation next time."""
    target = folder()
    try:
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, target / name)
        except OSError:
            os.unlink(temporary)
            raise
    except OSError as error:
        _warn_once(f"compiled kernels are not kept: {error}; set {VARIABLE} to a folder of your own")


def _private(path: Path) -> bool:
    """True if nobody else could have put this file here."""
    if not hasattr(os, "getuid"):
        return True
    for part in (path, path.parent):
        status = part.stat()
        if status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o002:
            _warn_once(f"compiled kernels in {path.parent} are not used: others may write there; chmod it to 700")
            return False
    return True


@functools.cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
