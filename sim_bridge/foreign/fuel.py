"""
Models and files from Gazebo's Fuel servers in the local cache; nothing is downloaded.

Gazebo keeps them at SERVER/OWNER/models/NAME/VERSION, in lower case.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SCHEMES = ('http', 'https', 'fuel')
_VARIABLES = ('GZ_FUEL_CACHE_PATH', 'IGN_FUEL_CACHE_PATH')
_HOMES = ('.gz/fuel', '.ignition/fuel')
_KINDS = ('models', 'worlds')
# names of the newest version, and of the folder between version and file
_TIP, _FILES = 'tip', 'files'
# words without a meaning for the cache: versions of the interface, and a word of the web pages
_API = ('1.0', 'fuel')


def is_fuel(uri: str) -> bool:
    """Return whether a URI names a file on a server."""
    return uri.partition('://')[0] in _SCHEMES and '://' in uri


def names_model(uri: str) -> bool:
    """Return whether a URI has the form for a Fuel model, or for its file."""
    return is_fuel(uri) and _words(uri) is not None


def cached(uri: str) -> Path | None:
    """
    Return a Fuel URI's file or folder in the cache; None if it is not there.

    The newest version counts, unless the URI names one.
    """
    words = _words(uri)
    if words is None:
        return None
    server, owner, kind, name, *rest = words
    for root in _roots():
        for host in (server, server.replace('app.', 'fuel.', 1)):
            folder = root / host / owner / kind / name
            found = _of_version(folder, rest)
            if found is not None:
                return found
    return None


def _words(uri: str) -> list[str] | None:
    """Return server, owner, kind, name, and the further words; None for other URIs."""
    try:
        parts = urlsplit(uri)
        words = [unquote(word) for word in parts.path.split('/') if word]
    except ValueError:
        return None
    words = [word for number, word in enumerate(words) if number > 1 or word not in _API]
    words = [word for number, word in enumerate(words) if number != 1 or word not in _API]
    is_safe = all(
        '/' not in word and '\0' not in word and word not in ('.', '..') for word in words
    )
    if len(words) < 3 or words[1] not in _KINDS or not is_safe or not parts.hostname:
        return None
    return [parts.hostname, words[0].lower(), words[1], words[2].lower(), *words[3:]]


def _roots() -> Iterator[Path]:
    given = [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
    yield from map(Path, given)
    home = os.environ.get('HOME')
    if home:
        yield from (Path(home) / each for each in _HOMES)


def _of_version(folder: Path, rest: list[str]) -> Path | None:
    """Return a path inside the named or newest version; None if it is missing."""
    try:
        versions = sorted(
            (int(each.name), each) for each in folder.iterdir() if each.name.isdecimal()
        )
        if not versions:
            return None
        chosen = versions[-1][1]
        if rest and (rest[0].isdecimal() or rest[0] == _TIP):
            wanted, *rest = rest
            chosen = chosen if wanted == _TIP else folder / wanted
        if rest and rest[0] == _FILES:
            rest = rest[1:]
        path = chosen.joinpath(*rest)
        return path if path.exists() else None
    except (OSError, ValueError):
        return None
