"""The node `servo`."""
