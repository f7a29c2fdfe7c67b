"""Errors of the library: each carries its data, and its message gives the cure."""

from __future__ import annotations

from collections.abc import Sequence


class ManipapyError(Exception):
    """Root of all errors raised by manipapy."""


class InputError(ManipapyError, ValueError):
    """An argument that cannot be used."""


class ShapeError(InputError):
    """An array has the wrong shape."""

    def __init__(self, name: str, expected: str, got: Sequence[int]):
        super().__init__(f"{name} has shape {tuple(got)}; expected {expected}")
        self.name, self.expected, self.got = name, expected, tuple(got)


class NotFiniteError(InputError):
    """An array holds NaN, infinity or an absurdly large number."""

    def __init__(self, name: str, index: Sequence[int], value: float, bound: float):
        where = f"{name}[{', '.join(str(i) for i in index)}]" if index else name
        super().__init__(f"{where} is {value!r}; every element must be finite and at most {bound:g} in size")
        self.name, self.index, self.value, self.bound = name, tuple(index), value, bound


class UnknownLink(InputError):
    """A link name that the robot does not have."""

    def __init__(self, name: str, available: Sequence[str]):
        super().__init__(f"no link {name!r}; this robot has: {', '.join(available)}")
        self.name, self.available = name, tuple(available)


class UnknownJoint(InputError):
    """A joint name that the robot (or chain) does not have."""

    def __init__(self, name: str, available: Sequence[str]):
        super().__init__(f"no joint {name!r}; available: {', '.join(available)}")
        self.name, self.available = name, tuple(available)


class ModelError(InputError):
    """A robot description that cannot be used; lists every problem found in it."""

    def __init__(self, source: str, problems: Sequence[str], warnings: Sequence[str] = ()):
        listing = "\n".join(f"  - {problem}" for problem in problems)
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{source}: {count}\n{listing}")
        self.source, self.problems, self.warnings = source, tuple(problems), tuple(warnings)


class CompilerError(ManipapyError):
    """The kernel compiler could not produce machine code."""


class ModelFileNotFound(ModelError, FileNotFoundError):
    """A robot description or limits file that is not there."""

    def __init__(self, source: str, problem: str):
        super().__init__(source, [problem])


class MeshNotFound(InputError):
    """A mesh that is missing, or that lies outside the folders that may be read."""

    def __init__(self, uri: str, reason: str):
        super().__init__(f"mesh {uri!r}: {reason}")
        self.uri, self.reason = uri, reason


class MissingPackage(ManipapyError, ImportError):
    """An optional package is needed and not installed.

    Args:
        package: Its name on PyPI.
        purpose: What needs it.
        extra: Extra of manipapy that installs it, as setup.py lists them.
    """

    def __init__(self, package: str, purpose: str, extra: str):
        super().__init__(f"{purpose} needs the package {package!r}; pip install 'manipapy[{extra}]' brings it")
        self.package, self.purpose, self.extra = package, purpose, extra
