"""The node `capability`."""
