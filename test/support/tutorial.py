"""Tutorial pages, run without a renderer."""

from __future__ import annotations

from pathlib import Path
import runpy

DOCUMENTS = Path(__file__).resolve().parent.parent.parent / 'docs' / 'tutorial'
RUNNER = runpy.run_path(str(DOCUMENTS / 'make_pictures.py'))


def run_page(name, folder, patch):
    """
    Run a page in a folder, with pytest's monkeypatch.

    Returns the page's final names, and the parts of each picture by its file name.
    """
    pictures = {}

    def keep(parts, view, path):
        pictures[path.name] = list(parts)

    patch.setattr('sim_bridge.view.scene.draw', keep)
    patch.setenv('MPLBACKEND', 'Agg')
    patch.chdir(folder)
    (page,) = DOCUMENTS.glob(f'*{name}.md')
    return RUNNER['run'](page), pictures
