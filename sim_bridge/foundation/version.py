"""The version of this package, written down in `package.xml` and nowhere else."""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree


def find_version(package: Path = Path(__file__).parents[1]) -> str:
    """
    Return the version of the code in the folder `package`.

    In a checkout `package.xml` stands beside the package and is never out of date; an installed
    package has metadata.
    """
    manifest = package.parent / 'package.xml'
    if manifest.is_file():
        return ElementTree.parse(manifest).getroot().findtext('version', '')
    # imported here, since it takes long and a checkout does without
    import importlib.metadata

    return importlib.metadata.version(package.name)


__version__ = find_version()
