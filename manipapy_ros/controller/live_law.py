"""Law and gains as parameters that may change while the arm moves.

`law` is the active law; `gains.<law>.<gain>` are lists: empty for the default, one number for all joints (or axes), or
one each. An invalid value is refused with the reason, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.parameter import Parameter

from manipapy_core.control import LAWS, ArmController, law_class

from ..common.params import Param, Values
from ..common.process import at_low_priority

PREFIX = "gains"

LAW_PARAMETERS = (
    Param("law", "computed_torque", f"Control law, one of: {', '.join(LAWS)}", live=True),
    *(
        Param(
            f"{PREFIX}.{law.name}.{gain.name}",
            [],
            f"{gain.text} [{gain.unit}], {gain.shape.value}; empty: the default",
            kind=Parameter.Type.DOUBLE_ARRAY,
            live=True,
        )
        for law in LAWS.values()
        for gain in law.GAINS
    ),
)

Gains = dict[str, float | list[float]]


def gains_of(law: str, values: Values) -> Gains:
    """The gains that parameters set for a law, without those left at their defaults.

    Raises:
        UnknownLaw: No law has this name.
    """
    given: Gains = {}
    for gain in law_class(law).GAINS:
        numbers = values.get(f"{PREFIX}.{law}.{gain.name}")
        if isinstance(numbers, Sequence) and not isinstance(numbers, str) and len(numbers):
            given[gain.name] = float(numbers[0]) if len(numbers) == 1 else [float(number) for number in numbers]
    return given


class LiveLaw:
    """Applies changes of the law and gain parameters.

    Args:
        controller: Returns the current controller, which makes laws with its gravity and payload.
    """

    def __init__(self, controller: Callable[[], ArmController]):
        self._controller = controller

    def check(self, values: Values, changed: frozenset[str]) -> None:
        """Validate a change by making the laws that it concerns.

        Raises:
            ManipapyError: One of them cannot be made.
        """
        concerned = {name.split(".")[1] for name in changed if name.startswith(f"{PREFIX}.")}
        if "law" in changed or concerned:
            with at_low_priority():
                for name in {str(values["law"]), *concerned}:
                    self._controller().make_law(name, gains_of(name, values))

    def apply(self, values: Values, changed: frozenset[str]) -> None:
        """Set the law if it or one of its gains has changed."""
        law = str(values["law"])
        if any(name == "law" or name.startswith(f"{PREFIX}.{law}.") for name in changed):
            self._controller().set_law(law, gains_of(law, values))
