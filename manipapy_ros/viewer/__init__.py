"""The node `viewer`."""
