"""Parameters of a node as one table: type, default, range and text are written once and declared from there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

Value = bool | int | float | str | list[float] | list[str]


@dataclass(frozen=True)
class Param:
    """One row of the table; the type of the parameter is that of its default, or `kind` for lists."""

    name: str
    default: Value
    text: str
    """What it does and in which unit; `ros2 param describe` shows it."""
    minimum: float = -math.inf
    """Smallest value allowed, for numbers."""
    maximum: float = math.inf
    """Largest value allowed, for numbers."""
    read_only: bool = False
    """Fixed from the start of the process on."""
    kind: Parameter.Type | None = None
    """Of a list, which says nothing about its type while it is empty."""

    def descriptor(self) -> ParameterDescriptor:
        """The row in the words of ROS, so that rclpy itself refuses values of the wrong type or out of range."""
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


def read(node: Node, table: Sequence[Param]) -> Mapping[str, Value]:
    """Current values by name; a list that nobody gave is empty."""
    return {row.name: _value(node, row) for row in table}


def _value(node: Node, row: Param) -> Value:
    parameter = node.get_parameter_or(row.name)
    if row.kind is None:
        return parameter.value
    return [] if parameter.value is None else list(parameter.value)
