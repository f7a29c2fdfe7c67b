"""Properties of a xacro description: scopes, values on demand, and texts with `${...}` and `$(...)` in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from .values import ExpressionError, size_of

_TOKEN = re.compile(r"(\$\$+(?=[{(]))|\$\{([^}]*)\}|\$\(([^)]*)\)")


class Evaluator(Protocol):
    """What evaluates the parts of a text."""

    def expression(self, text: str, scope: Scope) -> Any:
        """Value of `${text}`."""

    def substitution(self, text: str) -> Any:
        """Value of `$(text)`."""


class Scope(Mapping[str, Any]):
    """Properties by name, those of the surrounding scopes included; a value is evaluated when it is first asked for."""

    def __init__(self, evaluator: Evaluator, outer: Scope | None = None, names: Mapping[str, Any] | None = None):
        """Open a scope.

        Args:
            evaluator: Evaluates values.
            outer: The surrounding scope.
            names: What is known when no property has the name; for the outermost scope.
        """
        self._evaluator, self.outer, self._names = evaluator, outer, names or {}
        self._values: dict[str, Any] = {}
        self._pending: dict[str, str] = {}
        self._under_way: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._pending or name in scope._values:
                return scope._own(name)
            if scope.outer is None:
                return scope._names[name]
            scope = scope.outer
        raise KeyError(name)

    def _own(self, name: str) -> Any:
        if name in self._pending:
            if name in self._under_way:
                raise ExpressionError(f"defines {name!r} by itself; break the circle")
            self._under_way.add(name)
            try:
                self._values[name] = literal(self.text_value(self._pending[name]))
            finally:
                self._under_way.discard(name)
            del self._pending[name]
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._pending or name in scope._values:
                return True
            scope = scope.outer
        return False

    def __iter__(self) -> Iterator[str]:
        return iter({*self._values, *self._pending, *(self.outer or ())})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def set(self, name: str, value: Any) -> None:
        """Give a property a value; a text that looks like a number becomes one."""
        self._pending.pop(name, None)
        self._values[name] = literal(value)

    def set_lazily(self, name: str, text: str) -> None:
        """Give a property a text, which is evaluated when the property is first used."""
        self._values.pop(name, None)
        self._pending[name] = text

    def remove(self, name: str) -> None:
        """Forget a property."""
        self._pending.pop(name, None)
        self._values.pop(name, None)

    @property
    def outermost(self) -> Scope:
        """The scope of the document."""
        return self if self.outer is None else self.outer.outermost

    def text_value(self, text: str) -> Any:
        """A text with its expressions evaluated; a text that is one expression gives the expression's own type."""
        if "$" not in text:
            return text
        parts: list[Any] = []
        last = 0
        for match in _TOKEN.finditer(text):
            if match.start() > last:
                parts.append(text[last : match.start()])
            last = match.end()
            escaped, expression, substitution = match.groups()
            if escaped is not None:
                # "$${" stands for "${": what follows is text, up to its own end.
                parts.append(escaped[1:])
            elif expression is not None:
                parts.append(self._evaluator.expression(as_text(self.text_value(expression)), self))
            else:
                parts.append(self._evaluator.substitution(as_text(self.text_value(substitution))))
        if last < len(text):
            parts.append(text[last:])
        if len(parts) == 1:
            return parts[0]
        whole = "".join(as_text(part) for part in parts)
        size_of(whole)
        return whole


def as_text(value: Any) -> str:
    """A value as it is written into an attribute."""
    if callable(value):
        raise ExpressionError("gives a function; call it, or write a value")
    size_of(value)
    return str(value)


def literal(value: Any) -> Any:
    """The number or truth value that a text stands for, or the text, without single quotes around it."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == "'" and value[-1] == "'":
        return value[1:-1]
    if len(value) > 100 or "_" in value:
        return value
    for convert in (int, float, truth):
        try:
            return convert(value)
        except ValueError:
            continue
    return value


def truth(value: Any) -> bool:
    """The truth of a condition.

    Raises:
        ValueError: A text that is neither true, false nor an integer.
    """
    if not isinstance(value, str):
        return bool(value)
    if value in ("true", "True"):
        return True
    if value in ("false", "False"):
        return False
    return bool(int(value))
