"""Kinematics and dynamics as differentiable operations of PyTorch and JAX.

`for_torch(chain)` and `for_jax(chain)` give an object with the functions `forward`, `body_jacobian`,
`inverse_dynamics` and `forward_dynamics`, on tensors or arrays of that library and with its gradients. Values and
derivatives are those of our compiled kernels on the CPU; neither library is a dependency.
"""

from .for_jax import for_jax
from .for_torch import for_torch
from .functions import FUNCTIONS, DifferentiableFunction

__all__ = ["FUNCTIONS", "DifferentiableFunction", "for_jax", "for_torch"]
