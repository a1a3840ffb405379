"""
What a shell completes: verbs and options by their parsers, arguments by the functions here.

argcomplete asks a function with the beginning of a word for the words that it may become. It is
imported only where a shell asks, or the script for one is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from sim_bridge.description.resources import (
    gallery_scenes,
    ROBOT_SUFFIXES,
    SCENE_SUFFIXES,
    shipped_robots,
)
from sim_bridge.ros.params.parameter_files import names_of_nodes

Completer = Callable[..., Iterable[str]]

SHELLS = ('bash', 'zsh', 'fish')


def completed(action: argparse.Action, completer: Completer) -> None:
    """Have an argument completed by a function of this module."""
    action.completer = completer  # type: ignore[attr-defined]  # where argcomplete looks


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer the shell that asks by the environment, and end the process."""
    import argcomplete

    argcomplete.autocomplete(
        parser, always_complete_options=False, default_completer=argcomplete.SuppressCompleter()
    )


def script(shell: str) -> str:
    """Return the script that makes one of SHELLS complete `sim_bridge`."""
    import argcomplete

    return argcomplete.shellcode(['sim_bridge'], shell=shell)


def robots(prefix: str, **_: Any) -> Iterable[str]:
    """Complete the names of shipped robots and scenes, and files that describe one."""
    own = [] if '/' in prefix else shipped_robots()
    return [
        *(name for name in (*own, *gallery_scenes()) if name.startswith(prefix)),
        *_files(prefix, (*ROBOT_SUFFIXES, *SCENE_SUFFIXES)),
    ]


def scenes(prefix: str, **_: Any) -> Iterable[str]:
    """Complete the names of shipped scenes, and files that may hold one."""
    return [
        *(name for name in gallery_scenes() if name.startswith(prefix)),
        *_files(prefix, SCENE_SUFFIXES),
    ]


def yaml_files(prefix: str, **_: Any) -> Iterable[str]:
    """Complete YAML files."""
    return _files(prefix, ('.yaml', '.yml'))


def studies(prefix: str, **_: Any) -> Iterable[str]:
    """Complete what is done with a study, studies, and folders of results."""
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
    """Complete kinds of parameters that are fitted, after the last comma."""
    from sim_bridge.identification.parameters import KINDS

    before, comma, last = prefix.rpartition(',')
    return [f'{before}{comma}{kind}' for kind in KINDS if kind.startswith(last)]


def parameters(prefix: str, **_: Any) -> Iterable[str]:
    """Complete the names of the simulator's parameters, up to where the value begins."""
    return [
        f'{name}.' if is_block else f'{name}:='
        for name, is_block in names_of_nodes()['sim_bridge'].items()
    ]


def _files(prefix: str, suffixes: Iterable[str]) -> Iterable[str]:
    from argcomplete.completers import FilesCompleter

    return list(FilesCompleter([suffix.lstrip('.') for suffix in suffixes])(prefix))
