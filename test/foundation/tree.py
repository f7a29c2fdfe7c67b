"""The files of the project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

NOT_OURS = {"build", "dist", "install", "log", "__pycache__"}
"""Folders that builds and caches make."""
HIDDEN = {".ci", ".gitignore", ".pre-commit-config.yaml"}
"""Names with a leading dot that belong to the project."""


def project_files(folder: Path) -> Iterator[Path]:
    """Every file that belongs to the project, whether committed yet or not."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in HIDDEN
        if hidden or path.name in NOT_OURS or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from project_files(path)
        elif path.is_file():
            yield path
