"""Starting all nodes: description, supervisor, launch files, commands."""
