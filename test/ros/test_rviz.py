"""The layout of RViz shows what the nodes publish: every topic, its type and its QoS, beside the real nodes."""

from __future__ import annotations

import pytest
import yaml
from lifecycle_msgs.msg import Transition
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

NAMESPACE = "/shown_in_rviz"
NODES = {
    "sim_bridge": ("-p", "camera.enabled:=true", "-p", "scene:=table"),
    "model_server": (),
    "planner": (),
    "perception": (),
    "capability": (),
}
TYPES = {
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/PointCloud2": "sensor_msgs/msg/PointCloud2",
    "rviz_default_plugins/Image": "sensor_msgs/msg/Image",
    "rviz_default_plugins/RobotModel": "std_msgs/msg/String",
}
"""Of the displays that subscribe."""
WITHOUT_TOPIC = {"rviz_default_plugins/Grid", "rviz_default_plugins/TF", "moveit_rviz_plugin/MotionPlanning"}
SHOWN = {
    "robot_description",
    "planner/world_markers",
    "planner/display_path",
    "capability/polytope_markers",
    "capability/map",
    "perception/obstacle_markers",
    "points2",
    "left/image_rect",
}


def displays(project) -> list[dict]:
    layout = yaml.safe_load((project / "config/manipapy.rviz").read_text())
    return layout["Visualization Manager"]["Displays"]


def topic_of(display: dict) -> dict | None:
    return display.get("Topic", display.get("Description Topic"))


def test_everything_that_users_look_for_has_a_display(project):
    assert {topic["Value"] for display in displays(project) if (topic := topic_of(display))} >= SHOWN
    for display in displays(project):
        assert (topic_of(display) is None) == (display["Class"] in WITHOUT_TOPIC), display["Name"]


def test_motion_planning_panel_listens_to_what_the_planner_publishes(project):
    panel = next(item for item in displays(project) if item["Class"] == "moveit_rviz_plugin/MotionPlanning")
    assert panel["Planning Scene Topic"] == "monitored_planning_scene"
    assert panel["Planned Path"]["Trajectory Topic"] == "display_planned_path"
    assert panel["Planning Request"]["Planning Group"] == "arm"


@pytest.fixture(scope="module")
def publishers(start_for_module, peer):
    """Publishers of a topic, relative to the namespace. Configured nodes have theirs, except for the model server."""
    started = {
        name: start_for_module(name, "-p", "robot:=ur5", *arguments, namespace=NAMESPACE)
        for name, arguments in NODES.items()
    }
    for node in started.values():
        assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(started["model_server"], Transition.TRANSITION_ACTIVATE)

    def find(topic: str):
        full = f"{NAMESPACE}/{topic}"
        peer.wait_for(lambda: peer.node.count_publishers(full) > 0, f"a publisher of {full}")
        return peer.node.get_publishers_info_by_topic(full)

    return find


def test_every_display_matches_a_topic_of_the_nodes(project, publishers):
    for display in displays(project):
        topic = topic_of(display)
        if topic is None:
            continue
        for found in publishers(topic["Value"]):
            offered = found.qos_profile
            assert found.topic_type == TYPES[display["Class"]], display["Name"]
            reliable = topic["Reliability Policy"] == "Reliable"
            latched = topic["Durability Policy"] == "Transient Local"
            assert offered.reliability == ReliabilityPolicy.RELIABLE or not reliable, display["Name"]
            # One that is latched must be asked for as such, or a late RViz shows nothing until it changes.
            assert (offered.durability == DurabilityPolicy.TRANSIENT_LOCAL) == latched, display["Name"]
