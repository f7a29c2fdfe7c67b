"""The node `mock_hardware`."""
