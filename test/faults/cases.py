"""All cases of `make test-faults`, those of one rig together."""

from __future__ import annotations

from . import process_faults, request_faults, state_faults, world_faults
from .case import Case


def all_cases() -> list[Case]:
    """Every case of the table."""
    return [
        *world_faults.cases_of_world(),
        *process_faults.cases_of_world(),
        *state_faults.cases_of_relay(),
        *state_faults.cases_of_arm(),
        *world_faults.cases_of_arm(),
        *request_faults.cases_of_arm(),
        *process_faults.cases_of_arm(),
    ]
