"""Files of bundled robots, one module per arm, under ManipulaPy's names."""
