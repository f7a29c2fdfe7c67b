"""The ROS 2 nodes: messages in, one call of manipapy_core, messages out."""
