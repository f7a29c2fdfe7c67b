"""Collects the problems of a robot description; reads attributes without stopping at the first bad one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches

from ...errors import ModelError
from .xml import Element

LARGEST = 1e4
"""Bound of lengths [m], angles [rad] and ratios. Beyond it a number is a mistake, and rounding spoils the dynamics."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|infinity)|[+-]?nan", re.ASCII | re.IGNORECASE)


class Report:
    """All problems of one description, each with file, line, element and cure."""

    def __init__(self, label: str, source: str, strict: bool = False):
        """Start an empty report.

        Args:
            label: Short name that starts every message, such as `arm.urdf`.
            source: Full name for the headline of the error.
            strict: Whether a flaw is a problem, not a warning.
        """
        self._label, self._source, self.strict = label, source, strict
        self._problems: list[tuple[int, str]] = []
        self._warnings: list[tuple[int, str]] = []

    def problem(self, element: Element, owner: str, message: str) -> None:
        """Note something that makes the description unusable."""
        self._problems.append((element.line, self._text(element, owner, message)))

    def flaw(self, element: Element, owner: str, message: str) -> None:
        """Note a mistake that leaves no doubt about the robot: a problem when strict, otherwise a warning."""
        (self.problem if self.strict else self.warning)(element, owner, message)

    def add_flaw(self, text: str) -> None:
        """Note a flaw that has its place in its text."""
        (self._problems if self.strict else self._warnings).append((0, text))

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
            raise ModelError(self._source, [text for _, text in problems], self.warnings)

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

    def finite(
        self,
        element: Element,
        owner: str,
        attribute: str,
        default: float | None = None,
        largest: float = LARGEST,
    ) -> float | None:
        """Like `number`, but NaN, infinity and what exceeds `largest` in size are problems too."""
        value = self.number(element, owner, attribute, default)
        if value is None or abs(value) <= largest:
            return value
        cure = f"write a number of at most {largest:g} in size, in SI units"
        cure = cure if math.isfinite(value) else "write a finite number"
        self.problem(element, owner, f"{attribute} is {value:g}; {cure}")
        return None

    def vector(
        self,
        element: Element,
        owner: str,
        attribute: str,
        default: Sequence[float] | None,
        count: int = 3,
        largest: float = LARGEST,
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
        if len(values) == count and None in values and "," in written:
            # Commas between numbers; a decimal comma stays a problem, because it is inside one.
            values = [parse_number(part.removesuffix(",")) for part in written.split()]
            if None not in values:
                self.flaw(element, owner, f"{attribute} is {written!r}, read without commas; separate by spaces")
        if len(values) > count and set(values[count:]) == {values[count - 1]} != {None}:
            kept = " ".join(written.split()[:count])
            self.flaw(element, owner, f"{attribute} is {written!r}, read as {kept!r}; write {count} numbers")
            values = values[:count]
        if len(values) != count:
            cure = f"write {count} numbers separated by spaces"
            self.problem(element, owner, f"{attribute} is {written!r}, which has {len(values)} parts; {cure}")
            return None
        numbers = [value for value in values if value is not None and math.isfinite(value)]
        if len(numbers) != count:
            self.problem(element, owner, f"{attribute} is {written!r}; write {count} finite numbers")
            return None
        if max(map(abs, numbers)) > largest:
            cure = f"write {count} numbers of at most {largest:g} in size, in m or rad"
            self.problem(element, owner, f"{attribute} is {written!r}; {cure}")
            return None
        return numbers

    def first_child(self, element: Element, owner: str, tag: str) -> Element | None:
        """The first child with this tag; a second one is a flaw."""
        found = element.children_named(tag)
        if len(found) > 1:
            self.flaw(found[1], owner, f"<{tag}> is given {len(found)} times, the first one counts; keep one of them")
        return found[0] if found else None

    def only_child(self, element: Element, owner: str, tag: str, required_cure: str = "") -> Element | None:
        """The child with this tag; a second one is a problem, and so is none when a cure is given."""
        found = element.children_named(tag)
        if not found:
            if required_cure:
                self.problem(element, owner, f"<{tag}> is missing; {required_cure}")
            return None
        if len(found) > 1:
            lines = " and ".join(str(child.line) for child in found)
            # Repeated word for word it leaves no doubt.
            note = self.problem if any(not child.same_as(found[0]) for child in found) else self.flaw
            note(element, owner, f"<{tag}> is given {len(found)} times (lines {lines}); keep one of them")
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
