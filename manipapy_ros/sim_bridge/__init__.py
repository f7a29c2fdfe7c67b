"""The node `sim_bridge`."""
