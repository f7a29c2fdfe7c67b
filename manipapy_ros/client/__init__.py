"""Clients of the nodes, for programs that are not nodes themselves."""
