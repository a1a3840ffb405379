"""The published bundles: every file parses, every model evaluates or reports missing values."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_bridge.description.openplx import bundles
from sim_bridge.description.openplx.bundles import Library
from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.openplx.parser import parse
from sim_bridge.description.report import Findings

LIBRARY = Library([], Findings())


def files(bundle: str) -> list[Path]:
    """Return the files in an installed bundle."""
    return sorted(LIBRARY.bundles[bundle].folder.rglob('*.openplx'))


def models(bundle: str) -> list[str]:
    """Return the full model names in an installed bundle, without traits."""
    names = []
    for path in files(bundle):
        namespace = path.parent.relative_to(LIBRARY.bundles[bundle].folder).parts
        source = LIBRARY.open(path, LIBRARY.bundles[bundle], namespace)
        names += [
            source.full_name(node.name)
            for node in source.models.values()
            if node.kind != 'trait' and node.name != 'config'
        ]
    return names


@pytest.mark.parametrize('bundle', bundles.OFFICIAL)
def test_every_file_parses(bundle):
    """Read all published files."""
    assert files(bundle)
    for path in files(bundle):
        defects = []
        document = parse(path.read_text(), lambda *defect: defects.append(defect))  # noqa: B023
        assert not defects, (path, defects)
        assert document.models or document.globals or document.operators, path


@pytest.mark.parametrize(('bundle', 'count'), [('Math', 7), ('Physics', 90), ('Physics3D', 90)])
def test_every_model_evaluates_or_is_refused_by_name(bundle, count, monkeypatch):
    """Create an object of every model; only values required from the user may be missing."""
    monkeypatch.setattr(bundles, '_MOST_FINDINGS', 10_000)
    names = models(bundle)
    assert len(names) > count
    members = ''.join(f'    x{index} is {name}\n' for index, name in enumerate(names))
    findings = Findings()
    root = read_openplx(f'Scene:\n{members}', findings=findings)
    for found in findings.found:
        assert found.code == 'missing-assignment' and found.file == '<string>', found
    lacking = {found.line - 2 for found in findings.found}
    whole = [index for index in range(len(names)) if index not in lacking]
    assert len(whole) > len(names) / 4
    for index in whole:
        assert root[f'x{index}'].is_a(names[index])


def test_a_bundle_is_read_where_its_names_are_used():
    """Open no file before one of its names is looked up."""
    opened = []

    class Counting(Library):
        def open(self, path, *args):
            opened.append(path.stem)
            return super().open(path, *args)

    library = Counting([], Findings())
    source = library.read_text('A:\n    x is Real: 1\n')
    assert not opened
    assert library.find(source, ('Physics3D', 'Geometries', 'Box')).name == (
        'Physics3D.Geometries.Box'
    )
    assert opened == ['Box']
    # the file name differs from the model name
    found = library.find(
        source, ('Physics', 'Interactions', 'Clearance', 'ConstantDistanceClearance')
    )
    assert found.source.file.endswith('ConstantDistanceClerance.openplx')


def test_bundles_of_the_environment_come_before_the_installed_ones(tmp_path, monkeypatch):
    """Replace all installed bundles."""
    for name in ('Math', 'Mine'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'config.openplx').write_text(
            f'config is BundleConfig:\n    name: "{name}"\n'
        )
        (tmp_path / name / 'Vec3.openplx').write_text('Vec3:\n    x is Real: 7\n')
    monkeypatch.setenv('OPENPLX_BUNDLE_PATH', str(tmp_path))
    findings = Findings()
    root = read_openplx('A:\n    a is Math.Vec3\n    b is Mine.Vec3\n', findings=findings)
    assert not findings.found
    assert (root['a.x'], root['b.x']) == (7.0, 7.0)
    # bundles of two versions are not mixed
    assert 'Physics3D' not in Library([], Findings()).bundles
