"""The node `model_server`."""
