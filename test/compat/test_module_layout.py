"""ManipulaPy's module names of version 1.4, and its array backends."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import manipapy_core.compat as compat
from manipapy_core.compat import array_backend, backend
from manipapy_core.compat.alias import SUBMODULES
from manipapy_core.errors import InputError


@pytest.fixture
def installed():
    compat.install()
    yield
    compat.uninstall()


def test_every_module_name_leads_to_the_module_here(installed):
    for name, target in SUBMODULES.items():
        found = importlib.import_module(f"ManipulaPy.{name}")
        assert found is importlib.import_module(f"manipapy_core.compat.{target}")


def test_names_are_imported_from_submodules(installed):
    program = """
from ManipulaPy.backend.numpy_backend import NumpyBackend
from ManipulaPy.kinematics.ik_helpers import midpoint_of_limits
from ManipulaPy.planning import TrajectoryPlanning
from ManipulaPy.potential_field import fields
from ManipulaPy.urdf.modifiers import URDFModifier
from ManipulaPy.urdf.resolver import PackageResolver
import ManipulaPy.sim.simulation as simulation
names = NumpyBackend, midpoint_of_limits, TrajectoryPlanning, fields.PotentialField, URDFModifier, simulation.Simulation
"""
    space: dict[str, object] = {}
    exec(compile(program, "program", "exec"), space)
    assert all(callable(name) for name in space["names"])


def test_a_backend_of_the_user_is_selected_for_a_while():
    class Counting(array_backend.NumpyBackend):
        name = "counting"

    own = Counting()
    backend.register("counting", own)
    try:
        with backend.use_backend("counting") as used:
            assert used is own is backend.get_backend()
        assert backend.get_backend().name == "numpy"
        with pytest.raises(InputError, match="already"):
            backend.register("counting", own)
    finally:
        backend._REGISTRY.pop("counting")
    assert own.cache_token() != Counting().cache_token()


def test_backends_that_are_not_here_are_named():
    with pytest.raises(ImportError, match="no torch backend"):
        backend.set_backend("torch")
    with pytest.raises(InputError, match="there are: numpy"):
        backend.set_backend("tensorflow")
    assert backend.get_backend().name == "numpy"


def test_backend_functions_are_numpy_s():
    used = backend.get_backend()
    A = np.array([[3.0, 1.0], [0.5, 4.0]])
    left, values, right = used.svd(A)
    np.testing.assert_allclose(used.matmul(left * values, right), A)
    np.testing.assert_allclose(used.solve(A, used.matmul(A, [1.0, 2.0])), [1.0, 2.0])
    assert used.norm([3.0, 4.0]) == 5.0 and used.is_backend_array(A) and not used.is_backend_array([1.0])
    assert used.array([1, 2], dtype=used.float32).dtype == np.float32
