"""The robots every parity test runs on, sampled states, and the measure of agreement."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

import manipapy_core
from manipapy_core import Robot
from manipapy_core.model.chain import Chain
from reference.pinocchio_route import PinocchioRoute
from reference.random_robots import humanoid, random_chain
from reference.rerooting import link_names, path_joints, root_link
from reference.small_robots import SMALL_ROBOTS, RobotCase

Array = NDArray[np.float64]

PARITY = 1e-9
"""Agreement demanded of every float64 result, relative to max(1, |reference|)."""

# The ends a user of these arms names; for any other robot, the link with the most joints above it.
_USUAL_ENDS = {
    "ur5": ("base_link", "tool0"),
    "panda": ("panda_link0", "panda_hand"),
    "fr3": ("fr3_link0", "fr3_hand"),
    "xarm7": ("link_base", "link_eef"),
    "gen3_lite": ("base_link", "end_effector_link"),
    "dual_ur5e": ("station", "left_tool0"),
    "mobile_ur5e": ("odom", "tool0"),
}


def _bundled_robots() -> dict[str, RobotCase]:
    """One case per URDF that ships with the library."""
    folder = Path(manipapy_core.__file__).parent / "model" / "robots"
    cases = {}
    for path in sorted(folder.rglob("*.urdf")):
        text = path.read_text(encoding="utf-8")
        root = root_link(text)
        deepest = max(link_names(text), key=lambda name: len(path_joints(text, root, name)))
        cases[path.stem] = RobotCase(path.stem, text, *_USUAL_ENDS.get(path.stem, (root, deepest)))
    return cases


BUNDLED = _bundled_robots()
RPRPRR = random_chain("RPRPRR", seed=3)
HUMANOID = humanoid()
ALL_ROBOTS = (*BUNDLED.values(), RPRPRR, random_chain("CPFRC", seed=5), *SMALL_ROBOTS)


def case_name(case: RobotCase) -> str:
    return case.name


@functools.cache
def chain_of(case: RobotCase) -> Chain:
    """The chain under test; compiled kernels belong to it, so it is built once."""
    return Robot.from_urdf(case.text).chain(case.base, case.tip, fixed=dict(case.fixed) or None)


def pinocchio_of(case: RobotCase, gravity: ArrayLike = (0.0, 0.0, -9.81)) -> PinocchioRoute:
    """Pinocchio on the same text, with the joints in the order of the chain's q."""
    names = chain_of(case).joint_names
    return PinocchioRoute(case.text, case.base, case.tip, fixed=case.fixed, joint_names=names, gravity=gravity)


def states(chain: Chain, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random q, qd, qdd, each (count, n); q reaches beyond one turn where the joint has no limits."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.clip(bound, -6.3, 6.3) for bound in (chain.limits.lower, chain.limits.upper))
    q = rng.uniform(lower, upper, (count, chain.n))
    qd, qdd = rng.uniform(-2.0, 2.0, (2, count, chain.n))
    return q, qd, qdd


def one_by_one(function: Callable[..., Array], *batches: ArrayLike) -> Array:
    """The reference for each configuration of a batch in turn."""
    return np.stack([function(*row) for row in zip(*batches, strict=True)])


def disagreement(actual: ArrayLike, reference: ArrayLike) -> float:
    """Largest error, relative to max(1, |reference|); also checks that the shapes are the same."""
    actual, reference = np.asarray(actual), np.asarray(reference)
    assert actual.shape == reference.shape, f"shape {actual.shape} instead of {reference.shape}"
    if actual.size == 0:
        return 0.0
    return float(np.max(np.abs(actual - reference) / np.maximum(1.0, np.abs(reference))))
