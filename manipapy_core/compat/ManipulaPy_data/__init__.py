"""Files of bundled robots, one module per arm, under the names of the documents."""
