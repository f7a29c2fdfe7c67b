"""The node `collision_monitor`."""
