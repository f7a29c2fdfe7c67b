"""Parameters of a node as one table: type, default, range and description are written once and declared from there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

Value = Any
"""bool, int, float, str, or a list of floats or strings: the type of the row's default."""
Values = Mapping[str, Value]
"""Values of a table by parameter name."""


@dataclass(frozen=True)
class Param:
    """One row of the table; the type of the parameter is that of its default, or `kind` for lists."""

    name: str
    default: bool | int | float | str | list[float] | list[str]
    text: str
    """Description with the unit, as `ros2 param describe` shows it."""
    minimum: float = -math.inf
    """Smallest value allowed, for numbers."""
    maximum: float = math.inf
    """Largest value allowed, for numbers."""
    read_only: bool = False
    """Fixed from the start of the process on."""
    kind: Parameter.Type | None = None
    """Type of a list, which an empty default does not show."""
    live: bool = False
    """True: may change while the node is configured. False: such a change is refused."""

    def descriptor(self) -> ParameterDescriptor:
        """The row as a ROS descriptor, so that rclpy itself refuses values of the wrong type or out of range."""
        descriptor = ParameterDescriptor(name=self.name, description=self.text, read_only=self.read_only)
        if math.isinf(self.minimum) and math.isinf(self.maximum):
            return descriptor
        if isinstance(self.default, float) or self.kind is Parameter.Type.DOUBLE_ARRAY:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=self.minimum, to_value=self.maximum, step=0.0)
            ]
        else:
            # An integer range has no infinity; the ends of 64 bits stand for it.
            low = int(max(self.minimum, -(2**63))) if math.isfinite(self.minimum) else -(2**63)
            high = int(min(self.maximum, 2**63 - 1)) if math.isfinite(self.maximum) else 2**63 - 1
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high, step=1)]
        return descriptor


def declare(node: Node, table: Sequence[Param]) -> None:
    """Declare every row on the node; values from files and the command line are applied and checked here."""
    node.declare_parameters("", [(row.name, row.default or row.kind or row.default, row.descriptor()) for row in table])


def read(node: Node, table: Sequence[Param]) -> dict[str, Value]:
    """Current values by name; a list that was not set is empty."""
    return {row.name: _plain(row, node.get_parameter_or(row.name)) for row in table}


def changes(table: Sequence[Param], parameters: Iterable[Parameter]) -> dict[str, Value]:
    """Values of those parameters that are in the table, by name."""
    rows = {row.name: row for row in table}
    return {
        parameter.name: _plain(rows[parameter.name], parameter) for parameter in parameters if parameter.name in rows
    }


def _plain(row: Param, parameter: Parameter) -> Value:
    if row.kind is None:
        return parameter.value
    return [] if parameter.value is None else list(parameter.value)
