"""Parameters of the node `controller`, and their conversion to settings of the core."""

from __future__ import annotations

import math

from rclpy.parameter import Parameter

from manipapy_core.control import (
    CollisionAhead,
    ControllerSettings,
    ExecutionSettings,
    FilterSettings,
    ForecastPolicy,
    GuardSettings,
    LoopSettings,
)
from manipapy_core.dynamics import Payload
from manipapy_core.errors import InputError

from ..common.params import Param, Value, Values
from ..common.robot_loader import ROBOT_PARAMETERS
from .live_law import LAW_PARAMETERS, gains_of

HOLD_AFTER, STOP_AFTER = 0.02, 0.1
"""Age of the joint state above which the arm is held and stopped, on hardware [s]."""
SIMULATED_HOLD_AFTER, SIMULATED_STOP_AFTER = 0.25, 1.0
"""The same in simulation, where a busy machine delivers states late without danger [s]."""
HEARTBEAT_TIMEOUT, SIMULATED_HEARTBEAT_TIMEOUT = 0.5, 5.0
"""Time without a heartbeat of the planner after which its goal ends, on hardware and in simulation [s]."""
FORECAST_STALE, SIMULATED_FORECAST_STALE = 0.15, 0.5
"""Age above which a collision forecast is stale, on hardware and in simulation [s]."""
PHASE = 0.5
"""Ticks start halfway between two steps of a simulation on the same machine, whose states have arrived by then."""

PAYLOAD = ("payload.mass", "payload.com")

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Param("mode", "effort", "Command interface: effort or position; may change at any time", live=True),
    Param("speed", 1.0, "Speed scaling of trajectories; may change at any time", minimum=0.01, maximum=1.0, live=True),
    *LAW_PARAMETERS,
    Param("update_rate", 1000.0, "Ticks per second [Hz]", minimum=10.0, maximum=5000.0),
    Param("spin", 1e-4, "Busy wait before each tick [s]: less jitter, more load", minimum=0.0, maximum=1e-3),
    Param("priority", 80, "Priority of SCHED_FIFO, where permitted; 0: default scheduling", minimum=0, maximum=99),
    Param("lock_memory", True, "Keep the process in RAM, where permitted"),
    Param("blend_time", 0.2, "Duration of the blend after a change of law or gains [s]", minimum=0.001, maximum=10.0),
    Param("gravity", [], "Gravity in the base link [m/s²]; empty: down, for a root link that stands upright",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("payload.mass", 0.0, "Mass held by the tip [kg]; may change at any time", minimum=0.0, maximum=1000.0,
          live=True),
    Param("payload.com", [0.0, 0.0, 0.0], "Its centre of mass in the tip link [m]; may change at any time",
          kind=Parameter.Type.DOUBLE_ARRAY, live=True),
    Param("constraints.path", 0.15, "Default path tolerance [rad or m]; 0: none", minimum=0.0, maximum=10.0),
    Param("constraints.goal", 0.01, "Default goal tolerance [rad or m]; 0: none", minimum=0.0, maximum=10.0),
    Param("constraints.stopped_velocity", 0.05, "Default goal tolerance of the velocity [rad/s or m/s]; 0: none",
          minimum=0.0, maximum=10.0),
    Param("constraints.goal_time", 2.0, "Default time to reach the goal after the last point [s]; 0: no limit",
          minimum=0.0, maximum=1000.0),
    Param("constraints.start", 0.05, "Allowed distance between the start of a trajectory and the reference [rad or m]",
          minimum=1e-4, maximum=10.0),
    Param("allow_partial_joints_goal", True, "Joints that a goal does not name stay where they are"),
    Param("guard.state_hold_after", 0.0, f"Age of the joint state that holds the arm [s]; 0: {HOLD_AFTER}, simulated "
          f"{SIMULATED_HOLD_AFTER}", minimum=0.0, maximum=10.0),
    Param("guard.state_stop_after", 0.0, f"Age of the joint state that stops the arm [s]; 0: {STOP_AFTER}, simulated "
          f"{SIMULATED_STOP_AFTER}", minimum=0.0, maximum=60.0),
    Param("guard.heartbeat_timeout", 0.0, "Time without a heartbeat of the planner after which its goal ends [s]; 0: "
          f"{HEARTBEAT_TIMEOUT}, simulated {SIMULATED_HEARTBEAT_TIMEOUT}", minimum=0.0, maximum=60.0),
    Param("guard.tracking_error", 0.25, "Distance from the reference that holds the arm [rad or m]",
          minimum=1e-3, maximum=10.0),
    Param("guard.state_consistency", 0.006, "Tolerated difference between positions and the integral of velocities "
          "[rad or m]", minimum=1e-4, maximum=10.0),
    Param("guard.velocity_jump", 0.3, "Tolerated step between two measured velocities, as a share of the velocity "
          "limit", minimum=0.01, maximum=100.0),
    Param("guard.contact_threshold", 0.2, "External effort that is a contact and stops the arm, as a share of the "
          "effort limit of the joint (mode effort, stiff laws); 0: off", minimum=0.0, maximum=10.0),
    Param("guard.contact_dynamic", 0.1, "Share of the efforts of acceleration that is added to this threshold",
          minimum=0.0, maximum=10.0),
    Param("guard.contact_bandwidth", 100.0, "Bandwidth of the observed external efforts [1/s]", minimum=1.0,
          maximum=1000.0),
    Param("guard.payload_tolerance", 0.005, "Efforts of a payload that are compensated although the arm does not feel "
          "it, as a share of the effort limits; 0: any", minimum=0.0, maximum=10.0),
    Param("guard.late_slow", 0.005, "Time between ticks that slows trajectories down [s]", minimum=1e-3, maximum=1.0),
    Param("guard.late_hold", 0.05, "Time between ticks that holds the arm [s]", minimum=2e-3, maximum=10.0),
    Param("guard.brake_factor", 2.0, "Deceleration of a hold over that of normal motion", minimum=0.1, maximum=100.0),
    Param("collision_forecast", "off", "Forecasts of collision_monitor: off, use (a stale one is a warning) or require "
          "(without a fresh one the arm is held)"),
    Param("guard.forecast_stale_after", 0.0, f"Age of a collision forecast that is too old [s]; 0: {FORECAST_STALE}, "
          f"simulated {SIMULATED_FORECAST_STALE}", minimum=0.0, maximum=10.0),
    Param("filter.enabled", False, "Kalman filter of joint states before the law"),
    Param("filter.position_noise", 1e-4, "Standard deviation of measured positions [rad or m]",
          minimum=1e-9, maximum=1.0),
    Param("filter.velocity_noise", 1e-2, "Standard deviation of measured velocities [rad/s or m/s]; 0: not measured",
          minimum=0.0, maximum=10.0),
    Param("filter.jerk_density", 50.0, "White jerk of the joints [rad/s³/√Hz or m/s³/√Hz]", minimum=1e-3, maximum=1e6),
    Param("state_rate", 50.0, "Messages on ~/controller_state per second [Hz]", minimum=0.1, maximum=200.0),
    Param("status_rate", 10.0, "Messages on ~/status per second [Hz]", minimum=0.1, maximum=50.0),
)  # fmt: skip


def payload_of(values: Values) -> Payload | None:
    """Payload of the tip; None if its mass is zero.

    Raises:
        InputError: Invalid mass or centre of mass.
    """
    mass, com = (values[name] for name in PAYLOAD)
    payload = Payload(float(mass), list(com))
    return payload if payload.mass else None


def heartbeat_timeout(values: Values, simulated: bool) -> float:
    """Time without a heartbeat after which a monitored goal ends [s]."""
    default = SIMULATED_HEARTBEAT_TIMEOUT if simulated else HEARTBEAT_TIMEOUT
    return float(values["guard.heartbeat_timeout"]) or default


def controller_settings(values: Values, simulated: bool) -> ControllerSettings:
    """Settings of the controller.

    Args:
        values: Parameters by name.
        simulated: Joint states come from a simulation.

    Raises:
        InputError: Names the invalid parameter.
    """
    gravity = list(values["gravity"])
    if len(gravity) != 3 or not all(math.isfinite(value) for value in gravity):
        raise InputError(f"gravity is {gravity}; give three finite numbers [m/s²]")
    law = str(values["law"])
    return ControllerSettings(
        law=law,
        gains=gains_of(law, values),
        period=1.0 / float(values["update_rate"]),
        blend_time=float(values["blend_time"]),
        gravity=gravity,
        payload=payload_of(values),
        filter=filter_settings(values),
        execution=ExecutionSettings(
            path_position=_or_none(values["constraints.path"]),
            goal_position=_or_none(values["constraints.goal"]),
            goal_velocity=_or_none(values["constraints.stopped_velocity"]),
            goal_time=_or_none(values["constraints.goal_time"]),
            start_tolerance=float(values["constraints.start"]),
            allow_partial=bool(values["allow_partial_joints_goal"]),
        ),
        guard=GuardSettings(
            state_hold_after=float(values["guard.state_hold_after"])
            or (SIMULATED_HOLD_AFTER if simulated else HOLD_AFTER),
            state_stop_after=float(values["guard.state_stop_after"])
            or (SIMULATED_STOP_AFTER if simulated else STOP_AFTER),
            tracking_error=float(values["guard.tracking_error"]),
            state_consistency=float(values["guard.state_consistency"]),
            velocity_jump=float(values["guard.velocity_jump"]),
            # In mode position no efforts are sent that could be compared with the motion.
            contact_threshold=float(values["guard.contact_threshold"]) if values["mode"] == "effort" else 0.0,
            contact_dynamic=float(values["guard.contact_dynamic"]),
            contact_bandwidth=float(values["guard.contact_bandwidth"]),
            payload_tolerance=float(values["guard.payload_tolerance"]),
            late_slow=float(values["guard.late_slow"]),
            late_hold=float(values["guard.late_hold"]),
            brake_factor=float(values["guard.brake_factor"]),
        ),
    )


def filter_settings(values: Values) -> FilterSettings | None:
    """Settings of the state filter; None: it is off."""
    if not values["filter.enabled"]:
        return None
    return FilterSettings(
        position_noise=float(values["filter.position_noise"]),
        velocity_noise=float(values["filter.velocity_noise"]) or None,
        jerk_density=float(values["filter.jerk_density"]),
    )


def collision_ahead(values: Values, simulated: bool) -> CollisionAhead | None:
    """The forecast input of the guard; None: forecasts are off.

    Raises:
        InputError: Unknown policy.
    """
    name = str(values["collision_forecast"])
    try:
        policy = ForecastPolicy(name)
    except ValueError:
        known = ", ".join(policy.value for policy in ForecastPolicy)
        raise InputError(f"collision_forecast is {name!r}; choose one of {known}") from None
    if policy is ForecastPolicy.OFF:
        return None
    default = SIMULATED_FORECAST_STALE if simulated else FORECAST_STALE
    return CollisionAhead(policy, float(values["guard.forecast_stale_after"]) or default)


def loop_settings(values: Values) -> LoopSettings:
    """Timing and scheduling of the control thread."""
    period = 1.0 / float(values["update_rate"])
    return LoopSettings(
        period=period,
        spin=min(float(values["spin"]), 0.9 * period),
        priority=int(values["priority"]) or None,
        lock_memory=bool(values["lock_memory"]),
        phase=PHASE * period,
    )


def _or_none(value: Value) -> float:
    """A tolerance; 0 becomes infinite: no check."""
    return float(value) or math.inf
