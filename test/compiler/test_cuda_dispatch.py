"""Arrays on a GPU go to the GPU and stay there, with the checks and the errors of the CPU.

No GPU is needed: `HostDevice` takes CuPy's place behind `gpu.Device`, everything above that is the real code.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from compiler.cuda_cases import time_laws
from compiler.cuda_host import DeviceArray, HostDevice, needs_host_compiler
from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.compiler import kernels_of
from manipapy_core.compiler.cuda import device as cuda_device
from manipapy_core.compiler.cuda.emit import BLOCK
from manipapy_core.errors import CompilerError, InputError, NotFiniteError, ShapeError
from reference.cases import BUNDLED, disagreement, states
from reference.public_functions import PUBLIC_FUNCTIONS, function_name

pytestmark = needs_host_compiler
PARITY = 1e-12


@pytest.fixture(scope="module")
def device():
    with pytest.MonkeyPatch.context() as patch:
        host = HostDevice()
        patch.setattr(cuda_device, "cupy_device", lambda: host)
        yield host


@pytest.fixture(scope="module")
def chain(device):
    """A chain of its own, whose GPU kernels belong to `device`."""
    return Robot.from_urdf(BUNDLED["ur5"].text).chain("base_link", "tool0")


@pytest.mark.parametrize("function", PUBLIC_FUNCTIONS, ids=function_name)
def test_every_public_function_takes_arrays_on_the_gpu(chain, device, function):
    operands = function.arguments(chain, 6)
    before = len(device.launches)
    for shape in ((), (6,), (2, 3), (0,)):
        shaped = [np.resize(operand, (*shape, chain.n)) for operand in operands]
        result = function.call(chain, *(DeviceArray(operand) for operand in shaped))
        assert disagreement(result, function.call(chain, *shaped)) <= PARITY
    assert len(device.launches) == before + 4


def test_no_code_for_the_cpu_is_made_where_none_is_run(device):
    fresh = Robot.from_urdf(BUNDLED["ur5"].text).chain("base_link", "tool0")
    kinematics.forward(fresh, DeviceArray(np.zeros((4, 6))))
    assert kernels_of(fresh).forward._entries.cache_info().currsize == 0
    assert disagreement(kinematics.forward(fresh, np.zeros((4, 6)))[0], kinematics.forward(fresh, np.zeros(6))) == 0
    kinematics.forward(fresh, DeviceArray(np.zeros((4, 6))))
    assert device.compiled.count("forward_double_rows") <= 2, "one kernel per chain and type, compiled once"


def test_blocks_of_256_threads_cover_the_batch(chain, device):
    for count, blocks in ((1, 1), (256, 1), (257, 2), (1003, 4)):
        dynamics.gravity_forces(chain, DeviceArray(np.zeros((count, 6))))
        assert device.launches[-1] == ("gravity_forces_double_rows", blocks, BLOCK)


def test_more_than_the_largest_grid_is_looped_over(chain, device, monkeypatch):
    monkeypatch.setattr(cuda_device, "MAX_BLOCKS", 2)
    q, _, _ = states(chain, 1300)
    result = dynamics.gravity_forces(chain, DeviceArray(q))
    assert device.launches[-1][1] == 2
    assert disagreement(result, dynamics.gravity_forces(chain, q)) <= PARITY


def test_the_type_of_the_arrays_decides(chain, device):
    q, qd, qdd = states(chain, 40)
    narrow = [values.astype(np.float32) for values in (q, qd, qdd)]
    result = dynamics.inverse_dynamics(chain, *map(DeviceArray, narrow))
    assert result.dtype == np.float32 and device.launches[-1][0] == "inverse_dynamics_float_rows"
    truth = dynamics.inverse_dynamics(chain, *(values.astype(float) for values in narrow))
    assert np.max(np.abs(result - truth)) <= 1e-5 * np.max(np.abs(truth))
    mixed = dynamics.inverse_dynamics(chain, DeviceArray(narrow[0]), *map(DeviceArray, (qd, qdd)))
    assert mixed.dtype == np.float64
    whole = kinematics.forward(chain, DeviceArray(np.ones((3, 6), dtype=int)))
    assert whole.dtype == np.float64


def test_batches_broadcast(chain, device):
    q, qd, qdd = states(chain, 4)
    operands = q[:, None], qd[:3], qdd[0]
    result = dynamics.inverse_dynamics(chain, *map(DeviceArray, operands))
    assert disagreement(result, dynamics.inverse_dynamics(chain, *operands)) <= PARITY
    with pytest.raises(InputError, match="batch shapes do not fit"):
        dynamics.inverse_dynamics(chain, *map(DeviceArray, (q, qd[:3], qdd)))


def test_gravity_and_payload_come_from_the_host_or_from_the_gpu(chain, device):
    state, gravity = states(chain, 9), np.array([1.0, -2.0, -9.0])
    wrench = np.random.default_rng(2).uniform(-20, 20, (9, 6))
    payload = dynamics.Payload(2.0, (0.1, 0.0, 0.2), 0.01 * np.eye(3))
    truth = dynamics.inverse_dynamics(chain, *state, gravity=gravity, wrench_tip=wrench, payload=payload)
    for given in (gravity, list(gravity), DeviceArray(gravity)):
        result = dynamics.inverse_dynamics(
            chain, *map(DeviceArray, state), gravity=given, wrench_tip=DeviceArray(wrench), payload=payload
        )
        assert disagreement(result, truth) <= PARITY


def test_a_batched_array_on_the_host_is_refused_with_the_cure(chain, device):
    q, qd, qdd = states(chain, 5)
    with pytest.raises(InputError, match=r"qdd is not on the GPU.*cupy.asarray\(qdd\)"):
        dynamics.inverse_dynamics(chain, DeviceArray(q), DeviceArray(qd), qdd)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("position", range(3))
def test_bad_numbers_give_the_error_of_the_cpu(chain, device, position, bad):
    operands = states(chain, 40)
    operands[position][17, 3] = bad
    errors = []
    for place in (np.asarray, DeviceArray):
        with pytest.raises(NotFiniteError) as caught:
            dynamics.inverse_dynamics(chain, *map(place, operands))
        errors.append((str(caught.value), caught.value.index, caught.value.bound))
    assert errors[0] == errors[1]


def test_bad_gravity_is_found_in_an_empty_batch_too(chain, device):
    for count in (0, 3):
        with pytest.raises(NotFiniteError, match="gravity"):
            dynamics.gravity_forces(chain, DeviceArray(np.zeros((count, 6))), gravity=(0.0, np.nan, 0.0))


def test_wrong_shapes_and_types_give_the_errors_of_the_cpu(chain, device):
    for wrong in (np.zeros(5), np.zeros((6, 1)), np.zeros((3, 6), complex), np.array("q")):
        messages = []
        for place in (np.asarray, DeviceArray):
            with pytest.raises(InputError) as caught:
                kinematics.forward(chain, place(wrong))
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    with pytest.raises(ShapeError, match="gravity"):
        dynamics.gravity_forces(chain, DeviceArray(np.zeros((2, 6))), gravity=DeviceArray(np.zeros(4)))


@pytest.mark.parametrize("name", ["forward", "inverse_dynamics", "mass_matrix"])
@pytest.mark.parametrize("batch", [(), (7,), (2, 3)], ids=str)
def test_columns_have_the_batch_last(chain, device, name, batch):
    function = next(function for function in PUBLIC_FUNCTIONS if function.name == name)
    operands = [np.resize(operand, (*batch, 6)) for operand in function.arguments(chain, 6)]
    extras = [dynamics.GRAVITY] if name == "inverse_dynamics" else []
    columns = [DeviceArray(np.moveaxis(operand, -1, 0)) for operand in operands]
    result = cuda_device.bind(chain, name).run(*columns, *extras)
    rows = np.moveaxis(result, range(len(function.tail(chain))), range(-len(function.tail(chain)), 0))
    assert disagreement(rows, function.call(chain, *operands)) <= PARITY


def test_columns_are_checked_where_the_user_sees_them(chain, device):
    kernel = cuda_device.bind(chain, "forward")
    q = np.zeros((6, 9))
    q[2, 5] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        kernel.run(DeviceArray(q))
    assert caught.value.index == (2, 5)
    assert np.isnan(kernel.run(DeviceArray(q), checked=False)).any()
    with pytest.raises(ShapeError, match=r"\(6, \.\.\.\)"):
        kernel.run(DeviceArray(q.T))
    with pytest.raises(InputError, match="forward takes q; got 2"):
        kernel.run(DeviceArray(q), DeviceArray(q))
    with pytest.raises(InputError, match="no kernel 'backward'"):
        cuda_device.bind(chain, "backward")


@pytest.mark.parametrize("case", time_laws(), ids=lambda case: case.name)
def test_time_laws_run_there_too(device, case):
    u, *shared = case.arguments(20, np.dtype(float))
    function = type(case.function)(case.function.signature, case.function.entries, case.function.make)
    assert disagreement(function.run(DeviceArray(u), *shared), case.reference([u, *shared])) <= PARITY


def test_without_cupy_the_error_names_the_cure(monkeypatch):
    fresh = Robot.from_urdf(BUNDLED["ur5"].text).chain("base_link", "tool0")
    monkeypatch.setattr(cuda_device, "cupy_device", cuda_device.CupyDevice)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(CompilerError, match="CuPy is not installed") as caught:
        kinematics.forward(fresh, DeviceArray(np.zeros((2, 6))))
    assert "pip install" in str(caught.value)


def test_numpy_arrays_never_load_the_gpu_part():
    code = (
        "import sys, numpy as np\n"
        "from manipapy_core import Robot, dynamics\n"
        "chain = Robot.from_urdf('ur5').chain('base_link', 'tool0')\n"
        "dynamics.gravity_forces(chain, np.zeros(6)), dynamics.gravity_forces(chain, np.zeros((9, 6)))\n"
        "print([name for name in ('cupy', 'manipapy_core.compiler.cuda.device') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
