"""Package version, defined only in `package.xml`."""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree


def find_version(package: Path = Path(__file__).parents[1]) -> str:
    """
    Return the version of the code in the folder `package`.

    In a checkout, `package.xml` is beside the package and always up to date; an installed package
    has metadata.
    """
    manifest = package.parent / 'package.xml'
    if manifest.is_file():
        return ElementTree.parse(manifest).getroot().findtext('version', '')
    # late import: slow, and not needed in a checkout
    import importlib.metadata

    return importlib.metadata.version(package.name)


__version__ = find_version()
