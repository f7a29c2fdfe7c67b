"""What the nodes share: base node, parameters, QoS, conversions, diagnostics, robot loading."""
