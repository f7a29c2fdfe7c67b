"""Collects the problems of a robot description; reads attributes without stopping at the first bad one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches

from ...errors import ModelError
from .xml import Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|[+-]?nan", re.ASCII | re.IGNORECASE)


class Report:
    """Everything found wrong with one description, in the words of its author: file, line, element, cure."""

    def __init__(self, label: str, source: str):
        """Start an empty report.

        Args:
            label: Short name that starts every message, such as `arm.urdf`.
            source: Full name for the headline of the error.
        """
        self._label, self._source = label, source
        self._problems: list[tuple[int, str]] = []
        self._warnings: list[tuple[int, str]] = []

    def problem(self, element: Element, owner: str, message: str) -> None:
        """Note something that makes the description unusable."""
        self._problems.append((element.line, self._text(element, owner, message)))

    def warning(self, element: Element, owner: str, message: str) -> None:
        """Note something doubtful that can still be used."""
        self._warnings.append((element.line, self._text(element, owner, message)))

    def _text(self, element: Element, owner: str, message: str) -> str:
        what = f"<{element.tag}> of {owner}" if owner else f"<{element.tag}>"
        # An element that is its own owner, such as a link, needs no "<link> of link 'hand'".
        if owner.startswith(f"{element.tag} "):
            what = owner
        return f"{self._label}:{element.line}: {what}: {message}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings, in file order."""
        return tuple(text for _, text in sorted(self._warnings, key=lambda entry: entry[0]))

    def raise_problems(self) -> None:
        """Raise one error that lists every problem in file order, if there is any."""
        if self._problems:
            problems = sorted(self._problems, key=lambda entry: entry[0])
            raise ModelError(self._source, [text for _, text in problems])

    def text(self, element: Element, owner: str, attribute: str, cure: str) -> str | None:
        """A required, non-empty attribute; its absence is a problem and gives None."""
        value = element.attributes.get(attribute, "").strip()
        if not value:
            state = "is empty" if attribute in element.attributes else "is missing"
            self.problem(element, owner, f"attribute {attribute!r} {state}; {cure}")
            return None
        return value

    def number(self, element: Element, owner: str, attribute: str, default: float | None = None) -> float | None:
        """One number; None when it is required and missing, or cannot be read (both are problems)."""
        if attribute not in element.attributes:
            if default is None:
                cure = f'write {attribute}="..." with a number'
                self.problem(element, owner, f"attribute {attribute!r} is missing; {cure}")
            return default
        written = element.attributes[attribute]
        value = parse_number(written)
        if value is None:
            self.problem(element, owner, f"{attribute} is {written!r}; write one number such as 0.5")
        return value

    def finite(self, element: Element, owner: str, attribute: str, default: float | None = None) -> float | None:
        """Like `number`, but NaN and infinity are problems too."""
        value = self.number(element, owner, attribute, default)
        if value is None or math.isfinite(value):
            return value
        self.problem(element, owner, f"{attribute} is {value}; write a finite number")
        return None

    def vector(
        self, element: Element, owner: str, attribute: str, default: Sequence[float] | None, count: int = 3
    ) -> list[float] | None:
        """Several finite numbers separated by spaces; None when they cannot be had (a problem)."""
        if attribute not in element.attributes:
            if default is None:
                example = " ".join(["0.1"] * count)
                self.problem(element, owner, f'attribute {attribute!r} is missing; write {attribute}="{example}"')
                return None
            return list(default)
        written = element.attributes[attribute]
        values = [parse_number(part) for part in written.split()]
        if len(values) != count:
            cure = f"write {count} numbers separated by spaces"
            self.problem(element, owner, f"{attribute} is {written!r}, which has {len(values)} parts; {cure}")
            return None
        numbers = [value for value in values if value is not None and math.isfinite(value)]
        if len(numbers) != count:
            self.problem(element, owner, f"{attribute} is {written!r}; write {count} finite numbers")
            return None
        return numbers

    def only_child(self, element: Element, owner: str, tag: str, required_cure: str = "") -> Element | None:
        """The child with this tag; a second one is a problem, and so is none when a cure is given."""
        found = element.children_named(tag)
        if not found:
            if required_cure:
                self.problem(element, owner, f"<{tag}> is missing; {required_cure}")
            return None
        if len(found) > 1:
            lines = " and ".join(str(child.line) for child in found)
            self.problem(element, owner, f"<{tag}> is given {len(found)} times (lines {lines}); keep one of them")
        return found[0]

    def misspelt_children(self, element: Element, owner: str, known: Sequence[str]) -> None:
        """Warn of unknown elements that look like a known one; others belong to other tools."""
        for child in element.children:
            if child.tag not in known:
                close = get_close_matches(child.tag.lower(), known, n=1, cutoff=0.8)
                if close:
                    self.warning(child, owner, f"unknown element, ignored; did you mean <{close[0]}>?")


def parse_number(text: str) -> float | None:
    """A decimal number as robot descriptions write it, also inf and nan; None when it is not one.

    Stricter than `float`, which would also take `1_000` and digits of other scripts.
    """
    stripped = text.strip()
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


def did_you_mean(name: str, available: Sequence[str]) -> str:
    """A hint that names the closest of the available names, or all of them when none is close."""
    close = get_close_matches(name, available, n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(available) or 'none'}"
