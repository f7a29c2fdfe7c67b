"""Mutations of valid input: of bytes, and of the elements and numbers of an XML document."""

from __future__ import annotations

import random
import re

NUMBERS = (
    "0", "-0.0", "1", "-1", "nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e999", "1e17", "3.2e5", "0x10", "1,5",
    "1e", "--1", "٣", "", " ", "1 2", "1_0", "9" * 400,
)  # fmt: skip
WORDS = (
    "", " ", "revolute", "continuous", "prismatic", "fixed", "floating", "planar", "base", "base_link", "tool0", "a/b",
    "../../etc/passwd", "package://x/y.stl", "file:///etc/passwd", "\u202e", "é" * 50, "x" * 5000, "%s%n", "${1/0}",
    "$(find x)", "$(env HOME)", "$(arg a)", "${().__class__}", "${load_yaml('/etc/passwd')}", "${'x' * 10**9}",
)  # fmt: skip
TAGS = (
    "link", "joint", "inertial", "mass", "inertia", "origin", "axis", "limit", "mimic", "parent", "child", "visual",
    "collision", "geometry", "mesh", "box", "dynamics", "transmission", "robot", "xacro:macro", "xacro:if",
    "xacro:include", "xacro:property", "xacro:arg", "xacro:insert_block",
)  # fmt: skip
_NUMBER = re.compile(r"(?<=[\"\s])-?\d+(?:\.\d+)?(?:e-?\d+)?(?=[\"\s])")
_VALUE = re.compile(r'"[^"]*"')
_ELEMENT = re.compile(r"<(\w[\w:]*)\b[^<>]*/>|<(\w[\w:]*)\b[^<>]*>[^<]*</\2>", re.S)
_TAG = re.compile(r"</?(\w[\w:]*)")
_ATTRIBUTE = re.compile(r'\s[\w:]+="[^"]*"')


def mutated_bytes(content: bytes, rng: random.Random, *, most: int = 6) -> bytes:
    """Flipped, removed, repeated, inserted or cut bytes."""
    out = bytearray(content)
    for _ in range(rng.randint(1, most)):
        if not out:
            return bytes(rng.randbytes(rng.randint(0, 50)))
        at, kind = rng.randrange(len(out)), rng.randrange(7)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at] = rng.randrange(256)
        elif kind == 2:
            del out[at : at + rng.choice((1, 2, 8, 64, 1024))]
        elif kind == 3:
            out[at:at] = rng.randbytes(rng.choice((1, 4, 8, 100)))
        elif kind == 4:
            piece = out[at : at + rng.choice((4, 40, 400))]
            out[at:at] = piece * rng.choice((1, 2, 20))
        elif kind == 5:
            out[at : at + 8] = rng.choice((b"\xff" * 8, b"\x00" * 8, b"\x7f\xf0" * 4, b"\x80" + b"\x00" * 7))
        else:
            del out[at:]
    return bytes(out)


def mutated_text(text: str, rng: random.Random, *, most: int = 4) -> str:
    """Other numbers, words, tags and attributes; elements removed, repeated, moved or nested."""
    for _ in range(rng.randint(1, most)):
        text = _KINDS[rng.randrange(len(_KINDS))](text, rng)
    return text


def _one(pattern: re.Pattern[str], text: str, rng: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def _replace(text: str, found: re.Match[str] | None, new: str) -> str:
    return text if found is None else text[: found.start()] + new + text[found.end() :]


def _number(text: str, rng: random.Random) -> str:
    new = rng.choice(NUMBERS) if rng.random() < 0.6 else repr(rng.gauss(0.0, 1.0) * 10.0 ** rng.randint(-12, 12))
    return _replace(text, _one(_NUMBER, text, rng), new)


def _value(text: str, rng: random.Random) -> str:
    found = _one(_VALUE, text, rng)
    other = _one(_VALUE, text, rng)
    new = f'"{rng.choice(WORDS)}"' if other is None or rng.random() < 0.5 else other.group()
    return _replace(text, found, new)


def _remove(text: str, rng: random.Random) -> str:
    return _replace(text, _one(_ELEMENT, text, rng), "")


def _repeat(text: str, rng: random.Random) -> str:
    found = _one(_ELEMENT, text, rng)
    return text if found is None else _replace(text, found, found.group() * rng.choice((2, 3, 30)))


def _move(text: str, rng: random.Random) -> str:
    found = _one(_ELEMENT, text, rng)
    if found is None:
        return text
    rest = _replace(text, found, "")
    target = _one(_TAG, rest, rng)
    return text if target is None else rest[: target.start()] + found.group() + rest[target.start() :]


def _nest(text: str, rng: random.Random) -> str:
    found = _one(_ELEMENT, text, rng)
    if found is None:
        return text
    tag, depth = rng.choice(TAGS), rng.choice((1, 5, 300))
    return _replace(text, found, f"<{tag}>" * depth + found.group() + f"</{tag}>" * depth)


def _rename(text: str, rng: random.Random) -> str:
    found = _one(_TAG, text, rng)
    return text if found is None else _replace(text, found, found.group().replace(found[1], rng.choice(TAGS)))


def _attribute(text: str, rng: random.Random) -> str:
    found = _one(_ATTRIBUTE, text, rng)
    new = "" if found is None or rng.random() < 0.5 else found.group() * 2
    return _replace(text, found, new)


_KINDS = (_number, _number, _number, _value, _value, _remove, _repeat, _move, _nest, _rename, _attribute)
