"""The node `perception`."""
