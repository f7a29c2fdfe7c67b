"""All cases of `make test-faults`, those of one rig together."""

from __future__ import annotations

from . import camera_faults, disk_faults, process_faults, request_faults, state_faults, world_faults
from .case import Case


def all_cases() -> list[Case]:
    """Every case of the table."""
    return [
        *world_faults.cases_of_world(),
        *process_faults.cases_of_world(),
        *disk_faults.cases_of_world(),
        *camera_faults.cases_of_camera(),
        *state_faults.cases_of_relay(),
        *state_faults.cases_of_arm(),
        *world_faults.cases_of_arm(),
        *request_faults.cases_of_arm(),
        *process_faults.cases_of_arm(),
        *disk_faults.cases_of_arm(),
    ]
