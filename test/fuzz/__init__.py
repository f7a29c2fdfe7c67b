"""Hostile and broken input: descriptions, meshes, maps, caches, command lines and messages; `make fuzz`."""
