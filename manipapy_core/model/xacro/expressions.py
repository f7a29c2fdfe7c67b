"""Evaluates the expressions of xacro, `${...}`, without Python's `eval`.

A description is untrusted input, and no filter before `eval` holds: `().__class__.__base__.__subclasses__()` leads to
every class of the process. Here the syntax tree is walked instead. It knows numbers, texts, lists and mappings, the
operators, the functions of `values` and nothing else, and its work is counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from .values import BINARY, COMPARE, LARGEST_LIST, UNARY, ExpressionError, Namespace, attribute, size_of

# Nodes that name a value which exists already.
_EXISTING = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp)
_LARGEST_EXPRESSION = 10_000


class Budget:
    """Work that one description may still cause."""

    def __init__(self, steps: int):
        self.steps = steps

    def spend(self, steps: int = 1) -> None:
        """Take some of it.

        Raises:
            ExpressionError: None is left.
        """
        self.steps -= steps
        if self.steps < 0:
            raise ExpressionError("asks for too much work; look for a macro that calls itself")


def evaluate(expression: str, names: Mapping[str, Any], budget: Budget) -> Any:
    """The value of an expression.

    Args:
        expression: Python's syntax, as far as xacro documents it.
        names: What it may refer to; looked up when needed.
        budget: Pays for the work.

    Raises:
        ExpressionError: Not an expression, not allowed, or it fails.
    """
    text = expression.strip()
    if len(text) > _LARGEST_EXPRESSION:
        raise ExpressionError(f"has more than {_LARGEST_EXPRESSION} characters; split it into properties")
    try:
        tree = ast.parse(text, mode="eval")
        return _Walk(names, budget).value(tree.body)
    except ExpressionError:
        raise
    except SyntaxError as error:
        raise ExpressionError(f"is no expression ({error.msg}); correct it") from None
    except RecursionError:
        raise ExpressionError("is nested too deeply; split it into properties") from None
    except MemoryError:
        raise ExpressionError("is too complex; split it into properties") from None
    except KeyError as error:
        raise ExpressionError(f"finds no entry {error}; correct the name") from None
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise ExpressionError(f"fails: {error}; correct it") from None


class _Walk:
    """Evaluates the nodes of one expression."""

    def __init__(self, names: Mapping[str, Any], budget: Budget):
        self._names, self._budget = names, budget
        self._local: dict[str, Any] = {}

    def value(self, node: ast.AST) -> Any:
        self._budget.spend()
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            raise ExpressionError(f"holds a {type(node).__name__}, which xacro does not know here; write it otherwise")
        result = method(node)
        if not isinstance(node, _EXISTING):
            self._budget.spend(size_of(result))
        return result

    def _Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, (int, float, str, bool, type(None))):
            raise ExpressionError(f"holds a {type(node.value).__name__}; write a number or a text")
        return node.value

    def _Name(self, node: ast.Name) -> Any:
        if node.id in self._local:
            return self._local[node.id]
        try:
            return self._names[node.id]
        except KeyError:
            raise ExpressionError(f"uses {node.id!r}, which is not defined; define the property first") from None

    def _BinOp(self, node: ast.BinOp) -> Any:
        operation = BINARY.get(type(node.op).__name__)
        if operation is None:
            raise ExpressionError(f"uses the operator {type(node.op).__name__}; use + - * / // % **")
        return operation(self.value(node.left), self.value(node.right))

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        operation = UNARY.get(type(node.op).__name__)
        if operation is None:
            raise ExpressionError(f"uses the operator {type(node.op).__name__}; use + - not")
        return operation(self.value(node.operand))

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        stops = isinstance(node.op, ast.Or)
        result: Any = None
        for operand in node.values:
            result = self.value(operand)
            if bool(result) is stops:
                return result
        return result

    def _Compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for operator, comparator in zip(node.ops, node.comparators):
            right = self.value(comparator)
            if not COMPARE[type(operator).__name__](left, right):
                return False
            left = right
        return True

    def _IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if not callable(function):
            raise ExpressionError("calls something that is no function; correct the name")
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += list(self.value(argument.value))
            else:
                arguments.append(self.value(argument))
        named = {entry.arg: self.value(entry.value) for entry in node.keywords if entry.arg is not None}
        if len(named) < len(node.keywords):
            raise ExpressionError("passes **arguments; write them out")
        self._budget.spend(sum(len(value) for value in arguments if isinstance(value, (list, tuple, dict, set))))
        return function(*arguments, **named)

    def _Attribute(self, node: ast.Attribute) -> Any:
        return attribute(self.value(node.value), node.attr)

    def _Subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, (str, list, tuple, dict)) or isinstance(owner, Namespace):
            raise ExpressionError(f"indexes a {type(owner).__name__}; only texts, lists and mappings have entries")
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            lower, upper, step = (None if part is None else self.value(part) for part in parts)
            return owner[lower:upper:step]
        return owner[self.value(node.slice)]

    def _List(self, node: ast.List) -> list[Any]:
        return [self.value(entry) for entry in node.elts]

    def _Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.value(entry) for entry in node.elts)

    def _Set(self, node: ast.Set) -> set[Any]:
        return {self.value(entry) for entry in node.elts}

    def _Dict(self, node: ast.Dict) -> dict[Any, Any]:
        if any(key is None for key in node.keys):
            raise ExpressionError("merges mappings by **; write the entries out")
        return {self.value(key): self.value(value) for key, value in zip(node.keys, node.values) if key is not None}

    def _ListComp(self, node: ast.ListComp) -> list[Any]:
        return [self.value(node.elt) for _ in self._loops(node.generators)]

    def _GeneratorExp(self, node: ast.GeneratorExp) -> list[Any]:
        return [self.value(node.elt) for _ in self._loops(node.generators)]

    def _DictComp(self, node: ast.DictComp) -> dict[Any, Any]:
        return {self.value(node.key): self.value(node.value) for _ in self._loops(node.generators)}

    def _loops(self, generators: list[ast.comprehension]) -> Iterator[None]:
        if not generators:
            yield
            return
        first, outer = generators[0], dict(self._local)
        values = self.value(first.iter)
        if not isinstance(values, (list, tuple, dict, set, str)):
            raise ExpressionError(f"loops over a {type(values).__name__}; only lists and mappings have entries")
        for count, entry in enumerate(values):
            self._budget.spend()
            if count > LARGEST_LIST:
                raise ExpressionError(f"loops more than {LARGEST_LIST} times; make it shorter")
            self._bind(first.target, entry)
            if all(self.value(condition) for condition in first.ifs):
                yield from self._loops(generators[1:])
        self._local = outer

    def _bind(self, target: ast.expr, entry: Any) -> None:
        if isinstance(target, ast.Name):
            self._local[target.id] = entry
        elif isinstance(target, ast.Tuple):
            for part, value in zip(target.elts, entry, strict=True):
                self._bind(part, value)
        else:
            raise ExpressionError("loops over something else than names; write `for name in ...`")
