"""Expands a xacro document to URDF, in this process and without running code.

Why not the package xacro? It hands expressions to Python's `eval` behind a filter of names, through which a file can
run any command; it keeps its state in module variables, which threads would share; its messages have no line; and
`$(find ...)` works only beside an installed ROS. What is read here are the elements that xacro documents: arg,
property, macro, call, insert_block, include, if, unless, element and attribute.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, ModelError
from ..packages import PackageSearch
from ..urdf.report import did_you_mean
from ..urdf.xml import Element, decode, parse_xml, xml_text
from .expressions import Budget, evaluate
from .files import DescriptionFiles
from .macros import Macro, fill, read_parameters
from .scope import Scope, as_text, truth
from .values import ExpressionError, global_names, tokenize

_STEPS = 2_000_000
_STEPS_PER_ELEMENT = 10
_DEPTH = 150
_PREFIX = "xacro:"


class _Failed(Exception):
    """A problem with its place."""


def expand(
    text: str,
    *,
    label: str,
    source: str,
    path: str | None,
    search: PackageSearch,
    arguments: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[str, tuple[str, ...]]:
    """The URDF behind a xacro document.

    Args:
        text: The document.
        label: Short name that starts a message.
        source: Full name for the headline of an error.
        path: The file; None for a text, which may include files only by `$(find ...)`.
        search: Finds packages, and says which files may be read.
        arguments: Values for `<xacro:arg>`.
        environment: Variables that `$(env ...)` may read.

    Returns:
        The text, and warnings.

    Raises:
        ModelError: Not expandable; with file, line and cure.
        InputError: Arguments that are no texts or numbers.
    """
    for key, value in arguments.items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float)) or not key:
            raise InputError(
                f"xacro_args holds {key!r}: {value!r}; give names and values as text, {{'prefix': 'left_'}}"
            )
    root = parse_xml(text, label, source, keep_text=True)
    expansion = _Expansion(search, arguments, environment, source)
    try:
        expanded = expansion.document(root, label, None if path is None else os.path.dirname(os.path.abspath(path)))
    except _Failed as failure:
        raise ModelError(source, [str(failure)]) from None
    except RecursionError:
        raise ModelError(source, [f"{label}: macros are nested too deeply; look for one that calls itself"]) from None
    return xml_text(expanded), tuple(expansion.warnings)


class _Expansion:
    """One document while it is expanded."""

    def __init__(
        self, search: PackageSearch, arguments: Mapping[str, Any], environment: Mapping[str, str], source: str
    ):
        self._files, self._source, self._environment = DescriptionFiles(search), source, environment
        self._arguments: dict[str, str] = {name: as_text(value) for name, value in arguments.items()}
        self._budget = Budget(_STEPS)
        self._macros: ChainMap[str, Macro] = ChainMap()
        self._root = Element("robot", {}, 1)
        self._label, self._depth = "", 0
        self._folder: str | None = None
        self.warnings: list[str] = []
        self._scope = Scope(self, names=global_names(
            load_yaml=self._load_yaml, arg=self._argument, abs_filename=self._absolute,
            message=lambda *a, **k: "", warning=self._say, error=self._say, fatal=self._fatal,
            print_location=lambda: "", dotify=lambda mapping: mapping, tokenize=tokenize,
        ))  # fmt: skip

    # What texts ask for.

    def expression(self, text: str, scope: Scope) -> Any:
        try:
            return evaluate(text, scope, self._budget)
        except ExpressionError as error:
            raise ExpressionError(f"${{{text[:200]}}} {error}") from None

    def substitution(self, text: str) -> Any:
        kind, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        if kind == "find":
            return self._files.find_package(rest)
        if kind == "arg":
            return self._argument(rest)
        if kind == "env":
            if rest not in self._environment:
                cure = f"pass xacro_env={{{rest!r}: value}} if you trust this description"
                raise ExpressionError(f"$(env {rest}) reads a variable of this machine; {cure}")
            return self._environment[rest]
        if kind == "optenv":
            name, _, default = rest.partition(" ")
            return self._environment.get(name, default)
        if kind == "eval":
            names = Scope(self, self._scope)
            for name, value in self._arguments.items():
                names.set(name, value)
            return self.expression(rest.strip("\"'") if rest[:1] in "\"'" else rest, names)
        if kind in ("dirname", "cwd"):
            return self._folder or ""
        if kind == "anon":
            return rest
        raise ExpressionError(f"$({text[:100]}) is not known; use find, arg, env, optenv, eval or dirname")

    def _argument(self, name: str) -> str:
        if name not in self._arguments:
            raise ExpressionError(f"$(arg {name}) is not given and has no default; pass xacro_args={{{name!r}: value}}")
        return self._arguments[name]

    def _load_yaml(self, filename: Any) -> Any:
        return self._files.load_yaml(str(filename), self._folder, lambda text: self.expression(text, self._scope))

    def _absolute(self, filename: Any) -> str:
        return os.path.join(self._folder or "", str(filename))

    def _say(self, *words: Any, **_options: Any) -> str:
        self.warnings.append(f"{self._label}: the description says: {' '.join(map(str, words))[:500]}")
        return ""

    def _fatal(self, *words: Any, **_options: Any) -> str:
        raise ExpressionError(f"the description refuses: {' '.join(map(str, words))[:500]}")

    # The document.

    def document(self, root: Element, label: str, folder: str | None) -> Element:
        self._label, self._folder = label, folder
        result = self._root = Element(root.tag, {}, root.line)
        self._content(root, result, self._scope)
        # Last, so that the name of the robot may be an argument whose default stands below.
        self._attributes(root, result, self._scope)
        return result

    def _attributes(self, element: Element, result: Element, scope: Scope) -> None:
        for name, written in element.attributes.items():
            if name != "xmlns:xacro" and not name.startswith(_PREFIX):
                result.attributes[name] = self._text(element, written, scope)

    def _text(self, element: Element, written: str, scope: Scope) -> str:
        return as_text(self._value(element, written, scope)) if "$" in written else written

    def _value(self, element: Element, written: str, scope: Scope) -> Any:
        try:
            return scope.text_value(written)
        except ExpressionError as error:
            raise self._failure(element, error) from None

    def _failure(self, element: Element, error: Exception | str) -> _Failed:
        return _Failed(f"{self._label}:{element.line}: <{element.tag}>: {error}")

    def _content(self, element: Element, result: Element, scope: Scope) -> None:
        """Expand the children of an element into the result."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise self._failure(element, f"is nested more than {_DEPTH} deep; look for a macro that calls itself")
        for child in element.content:
            if isinstance(child, str):
                result.add(self._text(element, child, scope))
            else:
                self._element(child, result, scope)
        self._depth -= 1

    def _element(self, element: Element, result: Element, scope: Scope) -> None:
        try:
            self._budget.spend(_STEPS_PER_ELEMENT)
            if not element.tag.startswith(_PREFIX):
                made = Element(element.tag, {}, element.line)
                self._attributes(element, made, scope)
                self._content(element, made, scope)
                result.add(made)
                return
            name = element.tag[len(_PREFIX) :]
            method = getattr(self, f"_do_{name}", None)
            if method is not None:
                method(element, result, scope)
            else:
                self._call(name, element, result, scope)
        except ExpressionError as error:
            raise self._failure(element, error) from None

    def _required(self, element: Element, name: str, scope: Scope) -> str:
        if name not in element.attributes:
            raise ExpressionError(f'has no attribute {name!r}; write {name}="..."')
        return as_text(scope.text_value(element.attributes[name]))

    def _do_arg(self, element: Element, _result: Element, scope: Scope) -> None:
        name = self._required(element, "name", scope)
        if name not in self._arguments and "default" in element.attributes:
            self._arguments[name] = as_text(scope.text_value(element.attributes["default"]))

    def _do_property(self, element: Element, _result: Element, scope: Scope) -> None:
        name, written = self._required(element, "name", scope), element.attributes
        where = scope
        if written.get("scope") == "global":
            where = scope.outermost
        elif written.get("scope") == "parent" and scope.outer is not None:
            where = scope.outer
        if written.get("remove", "") in ("true", "1") and "value" not in written:
            where.remove(name)
            return
        if "default" in written and "value" not in written:
            if name not in scope:
                where.set_lazily(name, written["default"])
            return
        if "value" not in written:
            block = Element(element.tag, {}, element.line)
            for child in element.content:
                block.add(child)
            where.set(f"**{name}", block)
        elif where is not scope or written.get("lazy_eval", "true") in ("false", "0"):
            where.set(name, scope.text_value(written["value"]))
        else:
            where.set_lazily(name, written["value"])

    def _do_macro(self, element: Element, _result: Element, scope: Scope) -> None:
        name = self._required(element, "name", scope).removeprefix(_PREFIX)
        parameters = read_parameters(element.attributes.get("params", ""))
        self._macros[name] = Macro(name, parameters, element, self._folder, self._label)

    def _do_call(self, element: Element, result: Element, scope: Scope) -> None:
        self._call(self._required(element, "macro", scope), element, result, scope)

    def _call(self, name: str, element: Element, result: Element, scope: Scope) -> None:
        macro = self._macros.get(name)
        if macro is None:
            hint = did_you_mean(name, list(self._macros))
            known = hint if hint.startswith("did") else "define it, or include the file that does"
            self.warnings.append(
                f"{self._label}:{element.line}: <{element.tag}>: there is no macro {name!r}, ignored; {known}"
            )
            return
        blocks = Element(element.tag, {}, element.line)
        self._content(element, blocks, scope)
        inner = Scope(self, scope)
        fill(macro, element, blocks.children, scope, inner)
        outer_label, self._label = self._label, macro.label
        # The folder stays that of the caller only for texts; a macro's own includes are relative to its file.
        outer_folder, self._folder = self._folder, macro.folder
        # Macros that a macro defines are its own.
        outer_macros, self._macros = self._macros, self._macros.new_child()
        self._content(macro.body, result, inner)
        self._label, self._folder, self._macros = outer_label, outer_folder, outer_macros

    def _do_insert_block(self, element: Element, result: Element, scope: Scope) -> None:
        name = self._required(element, "name", scope)
        if f"**{name}" in scope:
            self._content(scope[f"**{name}"], result, scope)
        elif f"*{name}" in scope:
            self._element(scope[f"*{name}"], result, scope)
        else:
            raise ExpressionError(f"asks for the block {name!r}, which is not given; give it as a child of the call")

    def _do_if(self, element: Element, result: Element, scope: Scope) -> None:
        if self._condition(element, scope):
            self._content(element, result, scope)

    def _do_unless(self, element: Element, result: Element, scope: Scope) -> None:
        if not self._condition(element, scope):
            self._content(element, result, scope)

    def _condition(self, element: Element, scope: Scope) -> bool:
        value = scope.text_value(element.attributes.get("value", ""))
        try:
            return truth(value)
        except ValueError:
            raise ExpressionError(f"has the value {value!r}; a condition is true, false or a number") from None

    def _do_element(self, element: Element, result: Element, scope: Scope) -> None:
        made = Element(self._required(element, "xacro:name", scope), {}, element.line)
        for name, written in element.attributes.items():
            if name != "xacro:name":
                made.attributes[name] = as_text(scope.text_value(written))
        self._content(element, made, scope)
        result.add(made)

    def _do_attribute(self, element: Element, result: Element, scope: Scope) -> None:
        result.attributes[self._required(element, "name", scope)] = self._required(element, "value", scope)

    def _do_include(self, element: Element, result: Element, scope: Scope) -> None:
        filename = self._required(element, "filename", scope)
        optional = element.attributes.get("optional", "") in ("true", "True", "1")
        space = element.attributes.get("ns", "")
        for path in self._files.matching(filename, self._folder):
            if optional and not os.path.isfile(path):
                continue
            label = Path(path).name
            root = parse_xml(decode(self._files.read(path), label, self._source), label, self._source, keep_text=True)
            for name, written in root.attributes.items():
                if name.startswith("xmlns:") and name != f"xmlns:{_PREFIX[:-1]}":
                    self._root.attributes.setdefault(name, written)
            outer = self._label, self._folder
            self._label, self._folder = label, os.path.dirname(path)
            if space:
                self._include_as(scope.text_value(space), root, result, scope)
            else:
                self._content(root, result, scope)
            self._label, self._folder = outer

    def _include_as(self, space: str, root: Element, result: Element, scope: Scope) -> None:
        """Include a file whose macros and properties get a prefix: `space.name`."""
        macros, self._macros = self._macros, self._macros.new_child()
        inner = Scope(self, scope)
        self._content(root, result, inner)
        for name, macro in self._macros.maps[0].items():
            macros[f"{space}.{name}"] = macro
        self._macros = macros
        scope.set(as_text(space), inner)
