"""A small, safe XML reader that remembers line numbers.

The standard ElementTree forgets where an element stood, and an error message without a line is of little
use in a file of a thousand lines. This reader sits directly on expat, keeps the line of every element, and
refuses document type declarations altogether: no robot description needs one, and they are the door to entity
bombs and to entities that pull in other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ...errors import ModelError


@dataclass(eq=False)
class Element:
    """One XML element; text between elements is not kept, robot descriptions have none."""

    tag: str
    """As written, with its prefix: `xacro:include`."""
    attributes: dict[str, str]
    line: int
    """Where the element starts, counted from 1."""
    children: list[Element] = field(default_factory=list)

    def children_named(self, tag: str) -> list[Element]:
        """All direct children with this tag, in file order."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in file order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))


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
        element = Element(tag, attributes, self.line())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

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


def parse_xml(text: str, label: str, source: str) -> Element:
    """The root element of an XML document.

    Args:
        text: The document; blank lines before it are allowed and counted.
        label: Short name that starts the problem line.
        source: Full name for the headline of the error.

    Raises:
        ModelError: Empty, malformed, or with a document type declaration.
    """
    body = text.lstrip("\ufeff \t\r\n")
    if not body:
        raise ModelError(source, [f"{label}: the document is empty; expected <robot name=...>...</robot>"])
    first_line = 1 + text[: len(text) - len(body)].count("\n")

    parser = expat.ParserCreate()
    builder = _TreeBuilder(parser, first_line)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.StartDoctypeDeclHandler = builder.doctype
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
