"""The node `planner`."""
