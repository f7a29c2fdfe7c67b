"""Every notebook runs from top to bottom, in a kernel of its own, and is kept without outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_five_notebooks():
    assert [path.name[:2] for path in NOTEBOOKS] == ["1_", "2_", "3_", "4_", "5_"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert cell["cell_type"] == "markdown" or (not cell["outputs"] and cell["execution_count"] is None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_between_notebooks_lead_to_files(path):
    text = path.read_text()
    for other in {part.split(")")[0] for part in text.split("](")[1:]}:
        assert (path.parent / other).is_file()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="the extra notebooks is not installed")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel", reason="the extra notebooks is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    options = {"timeout": 300, "iopub_timeout": 120, "kernel_name": "python3", "resources": resources}
    nbclient.NotebookClient(notebook, **options).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "stream" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs), "a figure"
