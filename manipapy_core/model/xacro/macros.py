"""Macros of xacro: their parameters, and how a call fills them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..urdf.xml import Element
from .scope import Scope
from .values import ExpressionError

_PARAMETER = re.compile(
    r"""\s*(?P<name>[^\s:=]+)             # the name, with one or two stars for a block
        (?:\s*:?=\s*                       # := or =
           (?P<forward>\^\|?)?             # ^ takes the caller's property, ^| does with a default
           (?P<default>(?:'[^']*'|\$\{[^}]*\}|\$\([^)]*\)|[^\s'])*)
        )?(?=\s|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a macro."""

    name: str
    """With its stars: `*origin` is a block, `**content` the inside of one."""
    default: str | None
    """A text to evaluate; None when a value must be given."""
    forwards: bool
    """Whether a property of the caller of this name is taken before the default."""


@dataclass(frozen=True, eq=False)
class Macro:
    """A macro as it was written."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Element
    folder: str | None
    """Of the file that it stands in."""
    label: str


def read_parameters(text: str) -> tuple[Parameter, ...]:
    """The parameters of `<xacro:macro params="...">`.

    Raises:
        ExpressionError: Not readable.
    """
    parameters: list[Parameter] = []
    position, text = 0, text.strip()
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None:
            raise ExpressionError(f"has the parameters {text[position : position + 60]!r}; write name or name:=default")
        default, forward = match["default"], match["forward"]
        if forward == "^":
            default = default or None
        parameters.append(Parameter(match["name"], default, forward is not None))
        position = match.end()
        while position < len(text) and text[position].isspace():
            position += 1
    return tuple(parameters)


def fill(macro: Macro, call: Element, blocks: Sequence[Element], caller: Scope, scope: Scope) -> None:
    """Give the parameters of a macro their values.

    Args:
        macro: What is called.
        call: The calling element; its attributes are the values.
        blocks: Its children, evaluated.
        caller: Properties where the call stands.
        scope: Takes the values.

    Raises:
        ExpressionError: A parameter is unknown, missing, or there are too many or too few blocks.
    """
    names = {parameter.name for parameter in macro.parameters}
    given: set[str] = set()
    for name, written in call.attributes.items():
        if name.startswith("xmlns") or (call.tag == "xacro:call" and name == "macro"):
            continue
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise ExpressionError(
                f"gives the parameter {name!r}, which macro {macro.name!r} has not; there are: {known}"
            )
        scope.set(name, caller.text_value(written))
        given.add(name)
    pending = list(blocks)
    missing = []
    for parameter in macro.parameters:
        if parameter.name.startswith("*"):
            if pending:
                scope.set(parameter.name, pending.pop(0))
            elif parameter.default is None:
                missing.append(parameter.name)
        elif parameter.name in given:
            continue
        elif parameter.forwards and parameter.name in caller:
            scope.set(parameter.name, caller[parameter.name])
        elif parameter.default is not None:
            scope.set(parameter.name, caller.text_value(parameter.default))
        else:
            missing.append(parameter.name)
    if missing:
        raise ExpressionError(f"leaves out {', '.join(missing)} of macro {macro.name!r}; give a value")
    if pending:
        raise ExpressionError(f"has the block <{pending[0].tag}>, which macro {macro.name!r} does not take; delete it")
