"""`Singularity`: singular configurations, ellipsoids and the workspace of an arm, with ManipulaPy's API.

Intended differences from ManipulaPy: singularity is decided by the smallest singular value for any number of joints,
where a determinant exists only for six; `near_singularity_detection` compares 1/condition with its threshold, so that
the documented default of 0.01 is meaningful; windows open only if there is a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import polytopes, reachability, singularity
from ..draw import new_axes, new_figure, show
from ..errors import InputError
from .kinematics import SerialManipulator

_SINGULAR = 1e-4
"""Ratio of the smallest to the largest singular value below which a configuration counts as singular."""


class Singularity:
    """Analyses an arm.

    Args:
        serial_manipulator: The arm.
    """

    def __init__(self, serial_manipulator: SerialManipulator):
        self.serial_manipulator = serial_manipulator

    def singularity_analysis(self, thetalist: ArrayLike) -> bool:
        """Whether the Jacobian has lost rank at these joint positions [rad or m], shape (n,)."""
        return not self.condition_number(thetalist) < 1.0 / _SINGULAR

    def condition_number(self, thetalist: ArrayLike) -> float:
        """Ratio of the largest to the smallest singular value of the Jacobian; inf if singular."""
        return float(singularity.condition_number(self.serial_manipulator.chain, thetalist))

    def near_singularity_detection(self, thetalist: ArrayLike, threshold: float = 1e-2) -> bool:
        """Whether the smallest singular value is below this fraction of the largest."""
        if not 0.0 < threshold < 1.0:
            raise InputError(f"threshold is {threshold}; give a fraction between 0 and 1, such as 0.01")
        return not self.condition_number(thetalist) < 1.0 / threshold

    def manipulability_ellipsoid(self, thetalist: ArrayLike, ax: Any = None) -> tuple[Any, Any]:
        """Draws the ellipsoids of linear and angular velocity at the tip.

        Args:
            ax: 3-D axes for both; two axes in a new figure if not given.

        Returns:
            The ellipsoids of linear and of angular velocity (`polytopes.Ellipsoid`).
        """
        chain = self.serial_manipulator.chain
        kinds = (polytopes.Motion.TRANSLATION, polytopes.Motion.ROTATION)
        linear, angular = (polytopes.velocity_ellipsoid(chain, thetalist, motion=kind) for kind in kinds)
        figure = None if ax is not None else new_figure(figsize=(12, 6))
        for number, (name, ellipsoid) in enumerate((("linear velocity", linear), ("angular velocity", angular))):
            scene = ax if figure is None else new_axes(figure, 121 + number)
            scene.plot_surface(*ellipsoid.surface(), alpha=0.5)
            if figure is not None:
                scene.set_title(name)
        if figure is not None:
            show(figure)
        return linear, angular

    def plot_workspace_monte_carlo(
        self, joint_limits: Sequence[tuple[float, float]] | None = None, num_samples: int = 10_000
    ) -> reachability.Workspace:
        """Draws the end-effector positions of random configurations and their convex hull.

        Args:
            joint_limits: (lower, upper) per joint [rad or m]; those of the arm if not given.
            num_samples: Number of configurations.
        """
        arm = self.serial_manipulator
        if joint_limits is not None:
            arm = SerialManipulator(arm.M_list, S_list=arm.S_list, joint_limits=joint_limits)
        found = reachability.sample_workspace(arm.chain, num_samples)
        figure = new_figure(figsize=(7, 7))
        scene = new_axes(figure)
        found.draw(scene)
        corners, triangles = found.hull
        if len(triangles):
            scene.plot_trisurf(*corners.T, triangles=triangles, alpha=0.15, color="tab:blue")
        scene.set_box_aspect(np.ptp(found.points, axis=0) + 1e-3)
        show(figure)
        return found
