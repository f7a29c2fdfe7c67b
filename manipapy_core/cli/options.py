"""Options that several commands share: where a robot comes from and which arm of it is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ..errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
BaseLink = Annotated[Optional[str], typer.Option(help="Link that stays still; the root when not given.")]  # noqa: UP045
TipLink = Annotated[Optional[str], typer.Option(help="End of the arm; the whole robot when not given.")]  # noqa: UP045
RobotSource = Annotated[str, typer.Argument(help="A bundled name, a URDF, xacro, SDF or MJCF file, or a robot folder.")]
LimitsFile = Annotated[Optional[str], typer.Option(help="Limits file, in the layout of MoveIt.")]  # noqa: UP045
PackagePath = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(help="Folder searched for package:// references; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
XacroArg = Annotated[Optional[list[str]], typer.Option(help="For xacro: name:=value; repeatable.")]  # noqa: UP045


def console(*, stderr: bool = False) -> Console:
    """For output to people; rich is loaded with the first line, not with the program."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, stderr=stderr)


def escape(text: str) -> str:
    """Text that rich prints as it is; units in brackets are taken for colours otherwise, and vanish."""
    from rich.markup import escape as escaped

    return escaped(text)


def xacro_arguments(words: Sequence[str] | None) -> dict[str, str] | None:
    """The words `name:=value` by name; None for none.

    Raises:
        InputError: A word without `:=`.
    """
    for word in words or ():
        if ":=" not in word:
            raise InputError(f"--xacro-arg is {word!r}; write name:=value")
    return dict(word.split(":=", 1) for word in words) if words else None
