"""`Singularity`: singular configurations, ellipsoids and the workspace of an arm, with ManipulaPy's API.

Intended differences from ManipulaPy: singularity is decided by the smallest singular value for any number of joints,
where a determinant exists only for six; `near_singularity_detection` takes the threshold of early versions, a fraction
such as 0.01, as the condition number 100; windows open only if there is a screen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import polytopes, reachability, singularity
from ..draw import new_axes, new_figure, show
from ..errors import InputError
from ..model.chain import Chain
from .kinematics import SerialManipulator

_SINGULAR = 1e-4
"""Ratio of the smallest to the largest singular value below which a configuration counts as singular."""


class Singularity:
    """Analyses an arm.

    Args:
        serial_manipulator: The arm: a `SerialManipulator`, or any object with `jacobian` and `forward_kinematics`.
    """

    def __init__(self, serial_manipulator: SerialManipulator | Any):
        self.serial_manipulator = serial_manipulator

    def singularity_analysis(self, thetalist: ArrayLike) -> bool:
        """Whether the Jacobian has lost rank at these joint positions [rad or m], shape (n,)."""
        return not self.condition_number(thetalist) < 1.0 / _SINGULAR

    def condition_number(self, thetalist: ArrayLike) -> float:
        """Ratio of the largest to the smallest singular value of the Jacobian; inf if singular."""
        chain = self._chain
        if chain is not None:
            return float(singularity.condition_number(chain, thetalist))
        values = np.linalg.svd(np.asarray(self.serial_manipulator.jacobian(thetalist)), compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > np.finfo(float).eps * values[0] else math.inf

    def near_singularity_detection(self, thetalist: ArrayLike, threshold: float = 1e3) -> bool:
        """Whether the condition number is above a threshold; a threshold below 1 stands for its inverse."""
        if not threshold > 0.0:
            raise InputError(f"threshold is {threshold}; give a condition number, such as 1000")
        return not self.condition_number(thetalist) <= (threshold if threshold >= 1.0 else 1.0 / threshold)

    def manipulability_ellipsoid(self, thetalist: ArrayLike, ax: Any = None) -> tuple[Any, Any]:
        """Draws the ellipsoids of linear and angular velocity at the tip.

        Args:
            ax: 3-D axes for both; two axes in a new figure if not given.

        Returns:
            The ellipsoids of linear and of angular velocity (`polytopes.Ellipsoid`).
        """
        linear, angular = self._ellipsoids(thetalist)
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
        found = self._workspace(joint_limits, num_samples)
        figure = new_figure(figsize=(7, 7))
        scene = new_axes(figure)
        found.draw(scene)
        corners, triangles = found.hull
        if len(triangles):
            scene.plot_trisurf(*corners.T, triangles=triangles, alpha=0.15, color="tab:blue")
        scene.set_box_aspect(np.ptp(found.points, axis=0) + 1e-3)
        show(figure)
        return found

    @property
    def _chain(self) -> Chain | None:
        """The arm of our own class; None for other objects."""
        chain = getattr(self.serial_manipulator, "chain", None)
        return chain if isinstance(chain, Chain) else None

    def _ellipsoids(self, thetalist: ArrayLike) -> list[polytopes.Ellipsoid]:
        """Of linear and of angular velocity."""
        chain = self._chain
        if chain is not None:
            kinds = (polytopes.Motion.TRANSLATION, polytopes.Motion.ROTATION)
            return [polytopes.velocity_ellipsoid(chain, thetalist, motion=kind) for kind in kinds]
        J = np.asarray(self.serial_manipulator.jacobian(thetalist), dtype=np.float64)
        found = []
        for part in (J[3:], J[:3]):
            axes, radii, _ = np.linalg.svd(part)
            found.append(polytopes.Ellipsoid(np.zeros(3), axes, np.pad(radii, (0, 3 - len(radii)))))
        return found

    def _workspace(self, joint_limits: Sequence[tuple[float, float]] | None, samples: int) -> reachability.Workspace:
        arm = self.serial_manipulator
        if self._chain is not None:
            if joint_limits is not None:
                arm = SerialManipulator(arm.M_list, S_list=arm.S_list, joint_limits=joint_limits)
            return reachability.sample_workspace(arm.chain, samples)
        if joint_limits is None:
            raise InputError("joint_limits are missing; give (lower, upper) for every joint")
        lower, upper = np.asarray(joint_limits, dtype=np.float64).T
        q = np.random.default_rng(0).uniform(lower, upper, (samples, len(lower)))
        points = np.array([np.asarray(arm.forward_kinematics(row))[:3, 3] for row in q])
        return reachability.Workspace(q, points, np.ones(samples))
