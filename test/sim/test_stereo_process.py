"""The rendering process gives the same frames as in-process rendering and does not block the physics."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from manipapy_core.model import BoxGeometry
from manipapy_core.sim import (
    Pinhole,
    RenderError,
    RenderReplica,
    SceneObject,
    SimWorld,
    StereoCamera,
    StereoProcess,
    look_at,
    read_scene,
)
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")

CAMERA = StereoCamera(Pinhole.from_field_of_view(160, 120, 1.1), 0.1, look_at([1.2, 0.0, 0.8], [0.45, 0.0, 0.05]))


@pytest.fixture
def world():
    with SimWorld() as world:
        world.load_scene(read_scene("table"))
        world.add_robot(arm("ur5"), q=HOME["ur5"])
        yield world


def test_frames_show_the_submitted_instant(world):
    with StereoProcess(CAMERA) as process, RenderReplica() as replica:
        for _ in range(2):
            world.step(10)
            content, view = world.content_and_view()
            assert process.submit(world)
            assert not process.submit(world), "one at a time"
            world.step(20)  # the world continues during rendering
            frame = process.wait()
            replica.load(content)
            expected = replica.stereo(CAMERA, view)
            assert frame.time_ns == expected.time_ns == view.time_ns
            np.testing.assert_array_equal(frame.left, expected.left)
            np.testing.assert_array_equal(frame.right, expected.right)
            np.testing.assert_array_equal(frame.depth, expected.depth)
            np.testing.assert_array_equal(frame.T_base_left, expected.T_base_left)
            assert frame.left.shape == (120, 160, 3) and frame.left.dtype == np.uint8
            assert frame.depth.shape == (120, 160) and frame.depth.dtype == np.float32


def test_spawned_and_removed_objects_are_rendered(world):
    T = np.eye(4)
    T[:3, 3] = 0.5, 0.0, 0.1

    with StereoProcess(CAMERA) as process:

        def nearest() -> float:
            process.submit(world)
            return float(process.wait().depth[40:80, 60:100].min())

        without = nearest()
        world.spawn(SceneObject("tower", BoxGeometry([0.2, 0.2, 0.4]), T))
        assert nearest() < without - 0.05
        world.remove("tower")
        assert nearest() == without


def test_submit_does_not_wait_for_rendering(world):
    with StereoProcess(CAMERA) as process:
        process.submit(world)
        process.wait()
        submitting, rendering = [], []
        for _ in range(5):
            start = time.perf_counter()
            process.submit(world)
            submitting.append(time.perf_counter() - start)
            process.wait()
            rendering.append(time.perf_counter() - start)
        assert min(submitting) < 0.25 * min(rendering)
        assert process.poll() is None


def test_wait_without_submit_is_an_error(world):
    with StereoProcess(CAMERA) as process, pytest.raises(RenderError, match="submit"):
        process.wait()


def test_dead_worker_is_reported(world):
    with StereoProcess(CAMERA) as process:
        process.submit(world)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(RenderError, match="ended"):
            process.wait()
        with pytest.raises(RenderError, match="ended"):
            process.submit(world)


def test_worker_that_does_not_start_is_reported():
    with pytest.raises(RenderError, match="ended"):
        StereoProcess(CAMERA, command=[sys.executable, "-c", "import sys; sys.exit(3)"])


def test_process_ends_with_its_owner():
    """Also when the owner is killed without closing it."""
    code = (
        "import sys, time; from manipapy_core.sim import *\n"
        "import numpy as np\n"
        "process = StereoProcess(StereoCamera(Pinhole.from_field_of_view(32, 24, 1.0), 0.1, np.eye(4)))\n"
        "print(process.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        worker = int(owner.stdout.readline().split()[-1])
        os.kill(worker, 0)
    finally:
        owner.kill()
        owner.communicate()
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline and is_running(worker):
        time.sleep(0.05)
    assert not is_running(worker)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_custom_worker_keeps_the_frames(world, tmp_path):
    program = (
        "import sys; from manipapy_core.sim.render.stereo_worker import serve, connection_from_arguments\n"
        "def keep(frame, camera):\n"
        "    open(sys.argv[1], 'a').write(f'{frame.time_ns} {frame.left.shape[1]} {camera.baseline}\\n')\n"
        "serve(connection_from_arguments(), keep)"
    )
    kept = tmp_path / "kept.txt"
    with StereoProcess(CAMERA, command=[sys.executable, "-c", program, str(kept)]) as process:
        for _ in range(2):
            world.step(5)
            process.submit(world)
            assert process.wait() == world.time_ns
    assert kept.read_text() == "5000000 160 0.1\n10000000 160 0.1\n"
