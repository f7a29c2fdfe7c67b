"""Expands xacro files, in a process of their own.

xacro keeps its state in module variables, which threads would share; it writes to stdout and stderr; and an
expression of the file may raise anything or never end. A process apart contains all of that.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ...errors import InputError, ModelError
from .xml import decode, parse_xml

_XACRO_SECONDS = 60.0
_TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# An empty path entry is the current folder, which must not shadow the installed package.
_RUN_XACRO = """
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import json
import xacro
sys.stdout.write(xacro.process(sys.argv[1], mappings=json.loads(sys.argv[2])))
"""


def expand_text(text: str, source: str, xacro_args: Mapping[str, str]) -> str:
    """The URDF behind a xacro text, which may include files only by absolute path or `$(find ...)`.

    Args:
        text: The document.
        source: Its name for the headline of an error.
        xacro_args: Values for `<xacro:arg>`.

    Raises:
        ModelError: xacro is not installed, or could not expand it.
    """
    # xacro reads files only. In an empty folder its relative includes find nothing by accident.
    with tempfile.TemporaryDirectory(prefix="manipapy_xacro_") as folder:
        path = Path(folder) / "text.xacro"
        path.write_text(text, encoding="utf-8")
        return expand_file(path, source, xacro_args)


def expand_file(path: Path, source: str, xacro_args: Mapping[str, str]) -> str:
    """The URDF behind a xacro file.

    Args:
        path: The file.
        source: Its name for the headline of an error.
        xacro_args: Values for `<xacro:arg>`.

    Raises:
        ModelError: xacro is not installed, or could not expand it.
    """
    if importlib.util.find_spec("xacro") is None:
        raise ModelError(source, ["xacro is not installed; run `pip install xacro`, or give an expanded .urdf file"])
    # Refuses malformed XML and document types with the line in the file that the user wrote.
    parse_xml(decode(path.read_bytes(), path.name, source), path.name, source)
    for key, value in xacro_args.items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float)) or not key:
            raise InputError(
                f"xacro_args holds {key!r}: {value!r}; give names and values as text, {{'prefix': 'left_'}}"
            )
    # Not as name:=value on the command line: there xacro drops an empty value, and an empty prefix is common.
    arguments = json.dumps({key: str(value) for key, value in xacro_args.items()})
    command = [sys.executable, "-c", _RUN_XACRO, str(path.absolute()), arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"}
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_XACRO_SECONDS,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        problem = f"xacro did not finish within {_XACRO_SECONDS:.0f} s; look for a macro that calls itself"
        raise ModelError(source, [problem]) from error
    if run.returncode != 0:
        said = "; ".join(line.strip() for line in _TERMINAL_COLOUR.sub("", run.stderr).splitlines() if line.strip())
        cure = "correct the file, or pass the missing argument in xacro_args"
        raise ModelError(source, [f"xacro failed: {said or 'no message'}; {cure}"])
    return run.stdout
