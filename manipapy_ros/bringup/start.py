"""Where an arm starts whose robot comes as a bare file: at zero if that is free, otherwise at a position that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from manipapy_core.errors import ManipapyError
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.model import RobotFolder
from manipapy_core.model.arms import gravity_in_base
from manipapy_core.motion.home import find_home

from ..common.robot_loader import ROBOT_PARAMETERS, LoadedRobot, robot_from_parameters
from .description import BringupMode, Options, configured_robots


def with_free_start(options: Options, log: Callable[[str], None]) -> Options:
    """The options with initial positions, where the robot is a file and its zero position collides with itself.

    A folder of `manipapy new-robot` and a robot of config/ bring their own; a real arm is where it is. A description
    that cannot be used is left to the nodes, which say why.
    """
    bare = options.robot not in configured_robots() and RobotFolder.at(options.robot) is None
    if not bare or options.params_file or options.initial_positions or options.mode is BringupMode.HARDWARE:
        return options
    given = {
        "robot": options.robot,
        "xacro_args": options.xacro_args,
        "package_paths": list(options.package_paths),
        "limits": options.limits,
        "base_link": options.base,
        "tip_link": options.tip,
        "group": options.group,
        "locked_joints": options.locked_joints,
        "ignore_missing_meshes": options.ignore_missing_meshes,
    }
    values = {**{row.name: row.default for row in ROBOT_PARAMETERS}, **given}
    try:
        robot = robot_from_parameters(values)
        assert robot is not None
        model = LoadedRobot.of(robot, values)
        model.require_collision_meshes()
        checker = Checker(RobotBody.build(model.robot, model.chain))
        limits = model.chain.limits
        if not checker.collides(np.clip(np.zeros(model.chain.n), limits.lower, limits.upper)):
            return options
        home = find_home(checker, gravity_in_base(model.robot, model.chain))
    except ManipapyError:
        return options
    log(f"at zero the arm collides with itself; it starts at {' '.join(f'{value:g}' for value in home)}")
    return replace(options, initial_positions=tuple(home.tolist()))
