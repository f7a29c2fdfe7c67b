"""Poses and Jacobians of a chain, for one configuration or any batch shape.

Twists are angular first. float32 arrays are computed in float32, everything else in float64. `threads` splits large
batches over that many threads.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from .compiler import kernels_of
from .model.chain import Chain
from .typing import AnyArray


def forward(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Pose of the tip in the base frame.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Homogeneous matrix T_base_tip [m], shape (..., 4, 4).
    """
    return kernels_of(chain).forward.run(q, threads=threads)


def link_poses(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Poses of all links in the base frame, in the order of `chain.link_names`.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Homogeneous matrices T_base_link [m], shape (..., links, 4, 4).
    """
    return kernels_of(chain).link_poses.run(q, threads=threads)


def space_jacobian(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Spatial twist of the tip per joint rate, in the base frame.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Jacobian, angular rows first, shape (..., 6, n).
    """
    return kernels_of(chain).space_jacobian.run(q, threads=threads)


def body_jacobian(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Twist of the tip per joint rate, in the tip frame.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Jacobian, angular rows first, shape (..., 6, n).
    """
    return kernels_of(chain).body_jacobian.run(q, threads=threads)


def space_jacobian_derivative(chain: Chain, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Time derivative of the space Jacobian.

    Args:
        q: Joint positions [rad or m], shape (..., n).
        qd: Joint velocities [rad/s or m/s], shape (..., n).

    Returns:
        d(space_jacobian)/dt, shape (..., 6, n).
    """
    return kernels_of(chain).space_jacobian_derivative.run(q, qd, threads=threads)


def body_jacobian_derivative(chain: Chain, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Time derivative of the body Jacobian.

    Args:
        q: Joint positions [rad or m], shape (..., n).
        qd: Joint velocities [rad/s or m/s], shape (..., n).

    Returns:
        d(body_jacobian)/dt, shape (..., 6, n).
    """
    return kernels_of(chain).body_jacobian_derivative.run(q, qd, threads=threads)


def space_jacobian_partials(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Partial derivatives of the space Jacobian by each joint position.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        ∂(space_jacobian)/∂q_k at [..., k], shape (..., 6, n, n).
    """
    return kernels_of(chain).space_jacobian_partials.run(q, threads=threads)


def body_jacobian_partials(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Partial derivatives of the body Jacobian by each joint position.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        ∂(body_jacobian)/∂q_k at [..., k], shape (..., 6, n, n).
    """
    return kernels_of(chain).body_jacobian_partials.run(q, threads=threads)
