"""Shared by all nodes: base node, process, parameters, robot loader, QoS, conversions, diagnostics."""
