"""The node `controller`."""
