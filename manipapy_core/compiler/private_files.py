"""Files that only this user can have written: owner and permissions are checked, and contents carry a MAC.

Machine code of the cache is run. A group that may write into a folder, an archive that was unpacked there, or a shared
disk must not be able to place code: files count only if they are this user's own and closed to others, and if their
message authentication code was made with the user's key, a file that only the user can read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import tempfile
from pathlib import Path

KEY_NAME = ".key"
KEY_SIZE = 32
MAC_SIZE = 32
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_HAS_USERS = hasattr(os, "getuid")


class NotPrivate(OSError):
    """Another user may have written a file or may write into its folder."""


def user_cache_folder() -> Path:
    """Folder for caches of this user: $XDG_CACHE_HOME, ~/.cache, or, without a home folder that can be written to, a
    folder of this user in the folder for temporary files.
    """
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry of the user database, as in some containers
        home = None
    if home is not None and home.is_absolute() and _can_be_written(home / ".cache"):
        return home / ".cache"
    return Path(tempfile.gettempdir()) / f"cache-{os.getuid() if _HAS_USERS else 'user'}"


def _can_be_written(path: Path) -> bool:
    """Whether a folder, or the nearest of its parents that exists, can be written to."""
    existing = next((part for part in (path, *path.parents) if part.exists()), None)
    return existing is not None and existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def read_private(path: Path) -> bytes:
    """Content of a file.

    Raises:
        NotPrivate: The file or its folder belongs to another user or is open to others.
        OSError: The file cannot be read; a symbolic link is not followed.
    """
    _check(os.stat(path.parent), path.parent)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        _check(os.fstat(handle), path)
        return file.read()


def make_private_folder(path: Path) -> None:
    """Makes a folder, closed to others.

    Raises:
        NotPrivate: There is one of another user, or open to others.
        OSError: It cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check(os.stat(path), path)


def mac(folder: Path, name: str, content: bytes) -> bytes:
    """Message authentication code of a file's name and content, with the key of the folder.

    Raises:
        OSError: The key can be neither read nor made.
    """
    code = hashlib.blake2b(key=_key(folder), digest_size=MAC_SIZE)
    code.update(name.encode() + b"\0")
    code.update(content)
    return code.digest()


def _key(folder: Path) -> bytes:
    """The key of a folder, made on first use."""
    path = folder / KEY_NAME
    with contextlib.suppress(FileNotFoundError):
        return _read_key(path)
    make_private_folder(folder)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".key-")
    try:
        with os.fdopen(handle, "wb") as file:  # mkstemp: readable by this user only
            file.write(secrets.token_bytes(KEY_SIZE))
        try:
            os.link(temporary, path)
        except FileExistsError:  # another process was faster
            pass
        except OSError:  # a file system without links
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    return _read_key(path)


def _read_key(path: Path) -> bytes:
    key = read_private(path)
    if _HAS_USERS and os.stat(path).st_mode & _OTHERS_READ:
        raise NotPrivate(f"{path} can be read by others; remove it, a new one will be made")
    if len(key) != KEY_SIZE:
        raise NotPrivate(f"{path} is not a key; remove it, a new one will be made")
    return key


def _check(status: os.stat_result, path: Path) -> None:
    if not _HAS_USERS:
        return
    if status.st_uid != os.getuid():
        raise NotPrivate(f"{path} belongs to another user")
    if status.st_mode & _OTHERS_WRITE:
        raise NotPrivate(f"others may write to {path}; close it by chmod go-w")
