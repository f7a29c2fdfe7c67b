"""Our functions as operations of PyTorch and JAX, checked by these libraries' own gradient checkers."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.autodiff import FUNCTIONS, for_jax, for_torch

UR5 = Robot.from_urdf("ur5").chain("base", "tool0")
functions = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)


def arguments(function, *batch):
    return [np.random.default_rng(7).uniform(-1.0, 1.0, (*batch, 6)) for _ in function.inputs]


@functions
def test_derivatives_are_slopes(function):
    values = arguments(function, 5)
    for index, jacobian in enumerate(function.jacobians(UR5, *values)):
        assert jacobian.shape == (5, *function.output_shape(UR5), 6)
        for k, unit in enumerate(1e-6 * np.eye(6)):
            ends = []
            for sign in (1, -1):
                moved = list(values)
                moved[index] = values[index] + sign * unit
                ends.append(function.value(UR5, *moved))
            np.testing.assert_allclose(jacobian[..., k], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-5)


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self):
        jax = pytest.importorskip("jax", reason="JAX is optional: pip install 'manipapy[jax]'")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield jax
        jax.config.update("jax_enable_x64", before)

    @functions
    def test_gradients_in_both_modes(self, function):
        from jax.test_util import check_grads

        operation = getattr(for_jax(UR5), function.name)
        check_grads(operation, arguments(function), order=1, modes=("fwd", "rev"), rtol=1e-4, atol=1e-4)
        check_grads(operation, arguments(function, 3), order=1, modes=("rev",), rtol=1e-4, atol=1e-4)

    def test_jit_vmap_and_broadcasting_give_our_numbers(self, jax):
        operations = for_jax(UR5)
        q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4, 6))
        expected = dynamics.inverse_dynamics(UR5, q, qd, qdd)
        for call in (
            operations.inverse_dynamics,
            jax.jit(operations.inverse_dynamics),
            jax.vmap(operations.inverse_dynamics),
        ):
            np.testing.assert_allclose(call(q, qd, qdd), expected, atol=1e-12)
        resting = operations.inverse_dynamics(q, np.zeros(6), np.zeros(6))
        np.testing.assert_allclose(resting, dynamics.gravity_forces(UR5, q), atol=1e-12)

    def test_gradient_descent_reaches_a_pose(self, jax):
        """What a user does: a loss on the pose, minimised by JAX's gradient."""
        operations = for_jax(UR5)
        goal = kinematics.forward(UR5, [0.3, -1.2, 1.3, -1.5, -1.4, 0.2])
        step = jax.jit(jax.value_and_grad(lambda q: ((operations.forward(q) - goal) ** 2).sum()))
        q = np.array([0.2, -1.1, 1.2, -1.4, -1.5, 0.1])
        losses = []
        for _ in range(200):
            loss, gradient = step(q)
            losses.append(float(loss))
            q = q - 0.1 * np.asarray(gradient)
        assert losses[-1] < 0.01 * losses[0]


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="PyTorch is large and not installed for the tests: manipapy[torch]")

    @functions
    def test_gradients_in_both_modes(self, torch, function):
        operation = getattr(for_torch(UR5), function.name)
        values = [torch.tensor(value, requires_grad=True) for value in arguments(function, 2)]
        assert torch.autograd.gradcheck(operation, values, atol=1e-5, rtol=1e-4, check_forward_ad=True)

    def test_values_types_and_broadcasting(self, torch):
        operations = for_torch(UR5)
        q, qd, qdd = np.random.default_rng(1).normal(size=(3, 4, 6))
        tau = operations.inverse_dynamics(*map(torch.tensor, (q, qd, qdd)))
        np.testing.assert_allclose(tau.numpy(), dynamics.inverse_dynamics(UR5, q, qd, qdd), atol=1e-12)
        single = operations.forward(torch.tensor(q, dtype=torch.float32))
        assert single.dtype == torch.float32
        rate = torch.zeros(6, dtype=torch.float64, requires_grad=True)
        operations.inverse_dynamics(torch.tensor(q), rate, torch.tensor(qdd)).sum().backward()
        assert rate.grad.shape == (6,)
