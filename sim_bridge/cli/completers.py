"""
Shell completion: verbs and options from their parsers, arguments from the functions here.

argcomplete calls a function with the beginning of a word; the function returns candidates.
argcomplete is imported only when a shell requests completion or a script is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from sim_bridge.description.formats import ROBOT_SUFFIXES, WORLD_SUFFIXES
from sim_bridge.description.resources import gallery_scenes, shipped_robots
from sim_bridge.ros.params.parameter_names import names_of_nodes

Completer = Callable[..., Iterable[str]]

SHELLS = ('bash', 'zsh', 'fish')


def completed(action: argparse.Action, completer: Completer) -> None:
    """Register a function in this module as an argument's completer."""
    action.completer = completer  # type: ignore[attr-defined]  # attribute read by argcomplete


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the completion request in the environment, and end the process."""
    import argcomplete

    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=argcomplete.SuppressCompleter()
    )


def script(shell: str) -> str:
    """Return the completion script for one of SHELLS."""
    import argcomplete

    return argcomplete.shellcode(['sim_bridge'], shell=shell)


def robots(prefix: str, **_: Any) -> Iterable[str]:
    """Complete names of shipped robots and scenes, and robot or scene files."""
    own = [] if '/' in prefix else shipped_robots()
    return [
        *(name for name in (*own, *gallery_scenes()) if name.startswith(prefix)),
        *_files(prefix, (*ROBOT_SUFFIXES, *WORLD_SUFFIXES)),
    ]


def scenes(prefix: str, **_: Any) -> Iterable[str]:
    """Complete names of shipped scenes, and scene files."""
    return [
        *(name for name in gallery_scenes() if name.startswith(prefix)),
        *_files(prefix, WORLD_SUFFIXES),
    ]


def yaml_files(prefix: str, **_: Any) -> Iterable[str]:
    """Complete YAML files."""
    return _files(prefix, ('.yaml', '.yml'))


def studies(prefix: str, **_: Any) -> Iterable[str]:
    """Complete sweep actions, studies and result folders."""
    return [
        *(word for word in ('report', 'replay') if word.startswith(prefix)),
        *yaml_files(prefix),
        *folders(prefix),
    ]


def files(prefix: str, **_: Any) -> Iterable[str]:
    """Complete all files."""
    return _files(prefix, ())


def folders(prefix: str, **_: Any) -> Iterable[str]:
    """Complete folders."""
    from argcomplete.completers import DirectoriesCompleter

    return list(DirectoriesCompleter()(prefix))


def fitted(prefix: str, **_: Any) -> Iterable[str]:
    """Complete kinds of fitted parameters, after the last comma."""
    from sim_bridge.identification.parameters import KINDS

    before, comma, last = prefix.rpartition(',')
    return [f'{before}{comma}{kind}' for kind in KINDS if kind.startswith(last)]


def parameters(prefix: str, **_: Any) -> Iterable[str]:
    """Complete simulator parameter names, up to the value."""
    return [
        f'{name}.' if is_block else f'{name}:='
        for name, is_block in names_of_nodes()['sim_bridge'].items()
    ]


def _files(prefix: str, suffixes: Iterable[str]) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter([suffix.lstrip('.') for suffix in suffixes])(prefix))
