"""A small, safe XML reader that keeps line numbers.

The standard ElementTree drops the lines of elements, and an error message without a line is of little
use in a file of a thousand lines. This reader sits directly on expat, keeps the line of every element, and
refuses document type declarations altogether: no robot description needs one, and they permit entities
that grow without bound or read other files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ...errors import ModelError

LARGEST_DOCUMENT = 100_000_000
"""Bound of a description [characters]."""
LARGEST_ATTRIBUTE = 1_000_000
"""Bound of one attribute [characters]."""
LARGEST_DEPTH = 1000
"""Bound of elements inside elements."""


@dataclass(eq=False)
class Element:
    """One XML element."""

    tag: str
    """As written, with its prefix: `xacro:include`."""
    attributes: dict[str, str]
    line: int
    """Where the element starts, counted from 1."""
    children: list[Element] = field(default_factory=list)
    """The elements inside."""
    content: list[Element | str] = field(default_factory=list)
    """Children and, when requested, the text between them."""

    def add(self, part: Element | str) -> None:
        """Append a child or a text."""
        self.content.append(part)
        if isinstance(part, Element):
            self.children.append(part)

    def children_named(self, tag: str) -> list[Element]:
        """All direct children with this tag, in file order."""
        return [child for child in self.children if child.tag == tag]

    def same_as(self, other: Element) -> bool:
        """Whether both say the same, wherever they stand."""
        mine, others = list(self.walk()), list(other.walk())
        return [(entry.tag, entry.attributes) for entry in mine] == [(entry.tag, entry.attributes) for entry in others]

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in file order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))


# A licence above <?xml ...?> is malformed, yet common and harmless.
_DECLARATION_BEHIND_COMMENTS = re.compile(r"\A((?:<!--.*?-->\s*)+)(<\?xml\b[^>]*\?>)", re.DOTALL)


def _blank_declaration(found: re.Match[str]) -> str:
    return found.group(1) + " " * len(found.group(2))


class _Refused(Exception):
    """Leaves the parser from inside a callback."""


class _TreeBuilder:
    def __init__(self, parser: expat.XMLParserType, first_line: int):
        self._parser = parser
        self._line_offset = first_line - 1
        self._open: list[Element] = []
        self.root: Element | None = None

    def line(self) -> int:
        return self._parser.CurrentLineNumber + self._line_offset

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= LARGEST_DEPTH:
            raise _Refused(f"elements are nested more than {LARGEST_DEPTH} deep; no robot needs that, flatten them")
        for name, value in attributes.items():
            if len(value) > LARGEST_ATTRIBUTE:
                raise _Refused(
                    f"attribute {name[:100]!r} of <{tag[:100]}> has {len(value)} characters, more than "
                    f"{LARGEST_ATTRIBUTE}; shorten it"
                )
        element = Element(tag, attributes, self.line())
        if self._open:
            self._open[-1].add(element)
        else:
            self.root = element
        self._open.append(element)

    def text(self, data: str) -> None:
        if data.strip() and self._open:
            self._open[-1].add(data)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def doctype(self, *_declaration: object) -> None:
        raise _Refused(
            "a document type declaration is not accepted, it can hide entity bombs or pull in other files; "
            "delete the <!DOCTYPE ...> part and write out the entities that it defines"
        )


def decode(data: bytes, label: str, source: str) -> str:
    """UTF-8 bytes of a file to text.

    Args:
        data: Contents of the file.
        label: Short name that starts the problem line.
        source: Full name for the headline of the error.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            source,
            [f"{label}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8 text"],
        ) from error


def parse_xml(text: str, label: str, source: str, *, keep_text: bool = False) -> Element:
    """The root element of an XML document.

    Args:
        text: The document; blank lines before it are allowed and counted.
        label: Short name that starts the problem line.
        source: Full name for the headline of the error.
        keep_text: Whether the text between elements is kept; a URDF has none.

    Raises:
        ModelError: Empty, malformed, with a document type declaration, or beyond the bounds of a description.
    """
    body = _DECLARATION_BEHIND_COMMENTS.sub(_blank_declaration, text.lstrip("\ufeff \t\r\n"), count=1)
    if not body:
        raise ModelError(source, [f"{label}: the document is empty; expected <robot name=...>...</robot>"])
    if len(body) > LARGEST_DOCUMENT:
        problem = f"{label}: the document has {len(body)} characters, more than {LARGEST_DOCUMENT}; split it"
        raise ModelError(source, [problem])
    first_line = 1 + text[: len(text) - len(body)].count("\n")

    parser = expat.ParserCreate()
    builder = _TreeBuilder(parser, first_line)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.StartDoctypeDeclHandler = builder.doctype
    if keep_text:
        parser.buffer_text = True
        parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        line = error.lineno + first_line - 1
        problem = f"{label}:{line}: malformed XML, {expat.ErrorString(error.code)} (column {error.offset + 1})"
        raise ModelError(source, [f"{problem}; check that every tag and quote is closed"]) from error
    except _Refused as refusal:
        raise ModelError(source, [f"{label}:{builder.line()}: {refusal}"]) from None
    except UnicodeEncodeError as error:
        line = body.count("\n", 0, error.start) + first_line
        problem = f"{label}:{line}: the text holds half of a surrogate pair; decode it as UTF-8"
        raise ModelError(source, [problem]) from error
    assert builder.root is not None, "expat reports a document without elements as malformed"
    return builder.root


def xml_text(root: Element) -> str:
    """An element as an XML document, one element per line."""
    # Imported late: it brings urllib, and most robots are only read.
    from xml.sax.saxutils import escape, quoteattr

    lines = ['<?xml version="1.0"?>']
    pending: list[tuple[int, Element | str]] = [(0, root)]
    while pending:
        depth, part = pending.pop()
        indent = "  " * depth
        if isinstance(part, str):
            lines.append(indent + part)
            continue
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in part.attributes.items())
        if not part.content:
            lines.append(f"{indent}<{part.tag}{attributes}/>")
        elif all(isinstance(entry, str) for entry in part.content):
            inside = "".join(escape(str(entry)) for entry in part.content).strip()
            lines.append(f"{indent}<{part.tag}{attributes}>{inside}</{part.tag}>")
        else:
            lines.append(f"{indent}<{part.tag}{attributes}>")
            pending.append((depth, f"</{part.tag}>"))
            pending += [
                (depth + 1, escape(entry.strip()) if isinstance(entry, str) else entry)
                for entry in reversed(part.content)
            ]
    return "\n".join([*lines, ""])
