"""Law and gains as parameters that may change while the arm moves.

`law` names the law in force; `gains.<law>.<gain>` are lists: empty for the default, one number for all joints (or
axes), or one each. A value that cannot be used is refused with the reason, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from manipapy_core.control import LAWS, ArmController, law_class
from manipapy_core.errors import ManipapyError

from ..common.node import at_low_priority
from ..common.params import Param, Value

PREFIX = "gains"

LAW_PARAMETERS = (
    Param("law", "computed_torque", f"Control law, one of: {', '.join(LAWS)}"),
    *(
        Param(
            f"{PREFIX}.{law.name}.{gain.name}",
            [],
            f"{gain.text} [{gain.unit}], {gain.shape.value}; empty: the default",
            kind=Parameter.Type.DOUBLE_ARRAY,
        )
        for law in LAWS.values()
        for gain in law.GAINS
    ),
)

Gains = dict[str, float | list[float]]


def gains_of(law: str, values: Mapping[str, Value]) -> Gains:
    """The gains that parameters give for a law; those left to the defaults are not among them.

    Raises:
        UnknownLaw: There is no such law.
    """
    given: Gains = {}
    for gain in law_class(law).GAINS:
        numbers = values.get(f"{PREFIX}.{law}.{gain.name}")
        if isinstance(numbers, Sequence) and not isinstance(numbers, str) and len(numbers):
            given[gain.name] = float(numbers[0]) if len(numbers) == 1 else [float(number) for number in numbers]
    return given


class LiveLaw:
    """Follows the parameters of a node and hands over every new law.

    Args:
        node: Whose parameters they are.
        values: Their present values by name.
        controller: Of the moment; it makes laws with its own gravity and payload.
    """

    def __init__(self, node: Node, values: Mapping[str, Value], controller: Callable[[], ArmController]):
        self._node, self._controller = node, controller
        self._values = {row.name: values[row.name] for row in LAW_PARAMETERS}
        self._next: tuple[str, Gains] | None = None
        self._next_values = self._values
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take_up)

    def destroy(self) -> None:
        """Lets parameters change without effect."""
        self._node.remove_on_set_parameters_callback(self._check)
        self._node.remove_post_set_parameters_callback(self._take_up)

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        """Makes the law that would be in force, or says why it cannot be made."""
        changed = {parameter.name: _value(parameter) for parameter in parameters if parameter.name in self._values}
        self._next, values = None, self._values | changed
        if not changed:
            return SetParametersResult(successful=True)
        law = str(values["law"])
        try:
            with at_low_priority():
                for name in {law, *(name.split(".")[1] for name in changed if name.startswith(PREFIX))}:
                    self._controller().make_law(name, gains_of(name, values))
        except ManipapyError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._next, self._next_values = (law, gains_of(law, values)), values
        return SetParametersResult(successful=True)

    def _take_up(self, parameters: Sequence[Parameter]) -> None:
        law, self._next = self._next, None
        if law is None:
            return
        name, gains = law
        in_force = {"law", *(key for key in self._values if key.startswith(f"{PREFIX}.{name}."))}
        self._values = self._next_values
        if any(parameter.name in in_force for parameter in parameters):
            self._controller().set_law(name, gains)


def _value(parameter: Parameter) -> Value:
    return [] if parameter.value is None else parameter.value
