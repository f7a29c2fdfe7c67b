"""Configuration of the documentation site: `make docs` builds it in build/docs, with every warning an error."""

import importlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from public_names import documentation, home_of, kind_of, public_names  # noqa: E402

project = "manipapy"
author = "The manipapy developers"
copyright = "The manipapy developers, Apache-2.0"  # noqa: A001  (Sphinx prescribes the name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "manipapy"
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
# The drawn graphs come from this address; without internet their text is shown.
mermaid_version = "11.4.1"

default_role = "code"  # docstrings write code between single backticks
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

ROOT_PAGES = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "QUALITY_DECLARATION.md": "quality",
    "README.md": "index",
    "SECURITY.md": "security",
}
"""Pages at the top of the repository, and their names on the site."""
ATTRIBUTES = ("attribute", "data", "property")
original: dict[str, list[str]] = {}
"""Docstrings of attributes before napoleon, by name."""


def write_api_pages(_: object) -> None:
    """One page per public package, with everything it exports; not committed."""
    folder = ROOT / "docs/api"
    folder.mkdir(exist_ok=True)
    exported = public_names()
    for module, names in exported.items():
        summary = (importlib.import_module(module).__doc__ or "").strip().partition("\n\n")[0]
        described, elsewhere = [], []
        for name in names:
            kind, home = kind_of(module, name), home_of(module, name, exported)
            if kind == "module":
                elsewhere.append(f"- [{name}]({module}.{name}.md)")
            elif home != module:
                elsewhere.append(f"- `{name}`: see [{home}]({home}.md)")
            elif kind == "data":
                text = documentation(module, name).replace("\n", "\n   ")
                described += [f".. py:data:: {name}", "", f"   {text}", ""]
            else:
                members = ["   :members:"] if kind in ("class", "exception") else []
                described += [f".. auto{kind}:: {name}", *members, ""]
        lines = [f"# {module}\n", f"{summary}\n", *elsewhere, "\n```{eval-rst}", f".. currentmodule:: {module}", ""]
        write_if_changed(folder / f"{module}.md", "\n".join([*lines, *described, "```"]) + "\n")
    entries = "\n".join(exported)
    write_if_changed(folder / "index.md", f"# Python reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n")


def write_if_changed(path: Path, text: str) -> None:
    """Leave an unchanged page alone, so that Sphinx does not build it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def escape_formulas(app: object, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Formulas of docstrings, such as J* or |q|, are not markup; code between backticks stays as it is."""
    for number, line in enumerate(lines):
        parts = re.split(r"(``[^`]*``|`[^`]*`)", line)
        lines[number] = "".join(
            part if part.startswith("`") else re.sub(r"(?<!\\)([*|]|_\b(?!\w))", r"\\\1", part) for part in parts
        )
    if what in ATTRIBUTES:
        original[name] = list(lines)


def restore_attributes(app: object, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon for the type of an attribute; ours are annotated, and say more."""
    if what in ATTRIBUTES:
        lines[:] = [*original.pop(name, lines), ""]


def read_root_pages(app: object, docname: str, source: list[str]) -> None:
    """Pages of the top stand here with their text; links to and from them lead to the pages of the site."""
    top = next((file for file, page in ROOT_PAGES.items() if page == docname != "index"), None)
    if top is not None:
        text = (ROOT / top).read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\((?!https?:|#|\.\./)", "](../", text).replace("](../docs/", "](")
    for file, page in ROOT_PAGES.items():
        source[0] = source[0].replace(f"](../{file}", f"]({page}.md")


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", read_root_pages)
    app.connect("autodoc-process-docstring", escape_formulas, priority=100)  # before napoleon reads the sections
    app.connect("autodoc-process-docstring", restore_attributes, priority=900)
    app.connect("builder-inited", write_api_pages)
