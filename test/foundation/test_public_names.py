"""One name, one concept."""

from __future__ import annotations

from import_graph import SourceTree


def test_public_class_names_are_unique(project):
    """`compat` repeats ManipulaPy's names on purpose."""
    tree = SourceTree(project, ["manipapy_core", "manipapy_ros"])
    twice = {}
    for name, modules in tree.public_classes().items():
        own = [module for module in modules if not module.startswith("manipapy_core.compat")]
        if len(own) > 1:
            twice[name] = own
    assert not twice
