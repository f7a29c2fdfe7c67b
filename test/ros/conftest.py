"""Real node processes in a ROS domain of their own, and a second node to talk to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from manipapy_ros.bringup.managed_process import die_with_parent
from manipapy_ros.client.session import destroy_node
from ros.suites import free_domain, ros_environment

TIMEOUT = 180.0
"""Seconds until something that should happen at once counts as not happening, on a busy machine."""
ASK_AGAIN = 3.0
"""After how long a harmless question is repeated [s]."""


WITHOUT_LOOP = {
    "bounds",
    "recordings",
    *("bringup", "capability", "cdr_templates", "cli", "controller_messages", "conversions_and_params", "cv_bridge"),
    *(
        "domains",
        "failure_report",
        "heartbeat",
        "interfaces",
        "lean_executor",
        "local_socket",
        "margins",
        "mock_hardware",
        "model_server",
        "model_server_services",
        "node_pages",
        "perception_drivers",
        "planner_client",
        "robot_loader",
        "security",
        "move_group",
        "moveit_conversation",
    ),
    "rviz",
    "viewer_pages",
    "world",
    "world_follower",
    "world_messages",
}
"""Files test_*.py without a simulated arm under control at 1 kHz. Two such arms at once are too much for two cores."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of real processes get a second try, which the summary names.

    A loop at 1 kHz on a shared machine is held up for a second at times, and the safety of the arm then acts as it
    should: it stops. What fails twice in a row is not the machine.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and config.pluginmanager.hasplugin("rerunfailures"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """One worker has all tests with a 1 kHz arm; any other file stays together, because its tests share nodes.

    xdist's own groups (`--dist loadgroup`) have no effect with pytest 9.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneArmAtATime(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            name = Path(nodeid.split("::")[0]).stem.removeprefix("test_")
            return name if name in WITHOUT_LOOP else "1 kHz"

    return OneArmAtATime(config, log)


@pytest.fixture(scope="session")
def domain() -> Iterator[int]:
    """A ROS_DOMAIN_ID that no other test process on this machine holds; discovery stays on this machine."""
    with free_domain() as number, ros_environment(number):
        yield number


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nodes leave their reports here, not in the home of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class NodeProcess:
    """A node running as a process of its own."""

    def __init__(self, name: str, *arguments: str, namespace: str = ""):
        remap = ["-r", f"__ns:={namespace}"] if namespace else []
        command = [sys.executable, "-m", f"manipapy_ros.{name}.node", "--ros-args", *remap, *arguments]
        self.full_name = f"{namespace}/{name}"
        # A file, because nothing reads along, and a node that prints into a full pipe would wait for ever.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # Nodes of a worker that crashed would answer in its domain, which the next worker takes.
        self.process = subprocess.Popen(
            command, stdout=self._output, stderr=subprocess.STDOUT, preexec_fn=die_with_parent
        )

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Ctrl-C or another signal; the exit code."""
        self.process.send_signal(how)
        return self.process.wait(TIMEOUT)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def printed(self) -> str:
        """Everything so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")  # the node continues where it was

    def close(self) -> str:
        """End the process if it still runs; everything it printed."""
        if self.is_running:
            self.process.kill()
        self.process.wait()
        return self.printed


Starter = Callable[..., NodeProcess]


@contextmanager
def node_processes() -> Iterator[Starter]:
    """Starts nodes; whatever still runs at the end is ended, and what they printed goes to the report."""
    started: list[NodeProcess] = []

    def start(name: str, *arguments: str, namespace: str = "") -> NodeProcess:
        if name == "sim_bridge":
            pytest.importorskip("mujoco", reason="the simulation needs MuJoCo: pip install 'manipapy[sim]'")
        for earlier in started:
            if earlier.full_name == f"{namespace}/{name}" and earlier.is_running:  # of a fixture's failed first try
                earlier.close()
        started.append(NodeProcess(name, *arguments, namespace=namespace))
        return started[-1]

    try:
        yield start
    finally:
        for node in started:
            print(f"--- output of {node.full_name}\n{node.close()}")


@pytest.fixture
def start(domain) -> Iterator[Starter]:
    """Nodes of one test. Give them a namespace: those of the module keep running beside them."""
    with node_processes() as starter:
        yield starter


@pytest.fixture(scope="module")
def start_for_module(domain) -> Iterator[Starter]:
    """Nodes that all tests of a module share, because finding each other takes nodes a second or two."""
    with node_processes() as starter:
        yield starter


class Peer:
    """A plain node in the test's own process."""

    def __init__(self, node: Node, executor: SingleThreadedExecutor):
        self.node, self._executor = node, executor

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Spin until the condition holds."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, f"waited {TIMEOUT:g} s for {what}"
            self._executor.spin_once(timeout_sec=0.05)

    def spin_for(self, seconds: float) -> None:
        """Take messages for a while of real time, for what must not arrive meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def call(self, service_type: type, node: NodeProcess, name: str, request, *, repeat: bool = False):
        """The answer of a node's own service `~/name`.

        A node that was killed stays in the graph for a while, and a request may go to it instead of its successor:
        one that does no harm when repeated is repeated.
        """
        name = f"{node.full_name}/{name}"
        client = self.node.create_client(service_type, name)
        self.wait_for(lambda: client.service_is_ready() or not node.is_running, f"service {name}")
        answers, asked = [client.call_async(request)], time.monotonic()

        def answered() -> bool:
            nonlocal asked
            if repeat and time.monotonic() - asked > ASK_AGAIN:
                answers.append(client.call_async(request))
                asked = time.monotonic()
            return any(answer.done() for answer in answers)

        self.wait_for(lambda: answered() or not node.is_running, f"an answer of {name}")
        assert node.is_running, f"{node.full_name} ended with {node.process.returncode}:\n{node.close()}"
        result = next(answer.result() for answer in answers if answer.done())
        self.node.destroy_client(client)
        return result

    def transition(self, node: NodeProcess, transition_id: int) -> bool:
        """Whether the lifecycle transition succeeded."""
        self.state(node)  # it answers, so the next request reaches it
        request = ChangeState.Request(transition=Transition(id=transition_id))
        return self.call(ChangeState, node, "change_state", request).success

    def state(self, node: NodeProcess) -> str:
        """Lifecycle state of a node."""
        return self.call(GetState, node, "get_state", GetState.Request(), repeat=True).current_state.label


@pytest.fixture(scope="module")
def peer(domain) -> Iterator[Peer]:
    context = Context()
    rclpy.init(context=context)
    node = Node("test_peer", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield Peer(node, executor)
    executor.shutdown()
    destroy_node(node)
    rclpy.shutdown(context=context)
