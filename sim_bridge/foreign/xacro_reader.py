"""
Expansion of a xacro document in the confined process, by the `xacro` package.

A document is a program with Python expressions. xacro looks for forbidden names only in the
outermost expression. Here the whole expression is searched for attributes leading to Python's
internal objects. This is a first barrier, for clear messages; the confinement decides what an
expression can do. All opened files must be regular and of limited size.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
import contextlib
import io
import os
from pathlib import Path
from typing import Any, BinaryIO

# imported late by the document parser: import it now
import xml.dom.expatbuilder  # noqa: F401

import xacro
from xacro import substitution_args
import yaml

from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.launch_arguments import Choice, choose
from sim_bridge.foreign.old_xacro import OldElements
from sim_bridge.foreign.packages import explain_missing, find_package, in_sources
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError

# includes and YAML files may be in any folder
MAY_READ = True

# path from a generator through its frame to the builtins, and from a class to all others
_FORBIDDEN = frozenset(
    {
        'gi_frame',
        'gi_code',
        'gi_yieldfrom',
        'cr_frame',
        'ag_frame',
        'tb_frame',
        'f_back',
        'f_builtins',
        'f_code',
        'f_globals',
        'f_locals',
        'mro',
    }
)
_YAML_SUFFIXES = ('.yaml', '.yml', '.json')
# shorter environment values are not treated as secrets
_SHORTEST_SECRET = 4
_LONGEST_PRINTED = 1 << 16
# arguments taken from launch files; each needs another expansion
_MOST_CHOICES = 20
_OLD = 'warning: elements without the prefix xacro: are read as before ROS Melodic'
# environment with ROS 2 sourced; packages for both generations ask for the version
_OF_ROS_2 = {'ROS_VERSION': '2', 'ROS_PYTHON_VERSION': '3', 'ROS_DISTRO': 'jazzy'}


class RefusedError(Exception):
    """A request in a document that is refused."""


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return the expanded document, and xacro's printed output.

    request: 'file', document path or None; 'mappings', its arguments; 'package_paths'. data: the
    document.
    """
    secrets: set[str] = set()
    _guard(request, secrets)
    old, is_old, known = OldElements(), False, -1
    _watch(old, lambda: is_old)
    printed = io.StringIO()
    chosen: list[Choice] = []
    while True:
        given = {**request['mappings'], **{each.name: each.value for each in chosen}}
        try:
            with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
                text = _expanded(request, given, data)
            break
        except Exception as err:  # noqa: BLE001  expressions can raise anything
            if old.found and known != len(old.macros) and not isinstance(err, RefusedError):
                # again, with the names of all macros parsed
                is_old, known = True, len(old.macros)
                continue
            choice = None if isinstance(err, RefusedError) else _choice(str(err), given, request)
            if choice is None or len(chosen) == _MOST_CHOICES:
                kind = '' if isinstance(err, RefusedError) else f'{type(err).__name__}: '
                return {'error': f'{kind}{_without(secrets, str(err))}'}, b''
            chosen.append(choice)
    if is_old:
        printed.write(f'{_OLD}\n')
    answer = {
        'printed': _without(secrets, printed.getvalue()[:_LONGEST_PRINTED]),
        'chosen': [each._asdict() for each in chosen],
    }
    return answer, text.encode()


def _watch(old: OldElements, is_old: Callable[[], bool]) -> None:
    """Let xacro's parser note elements without prefix, and rename them if asked."""
    parse = xacro.parse

    def parsed(*args: Any, **kwargs: Any) -> Any:
        document = parse(*args, **kwargs)
        old.look(document)
        if is_old():
            old.rename(document)
        return document

    xacro.parse = parsed


def _expanded(request: dict[str, Any], arguments: dict[str, Any], data: bytes) -> str:
    xacro.init_stacks(request['file'])
    document = xacro.parse(data.decode(), request['file'])
    xacro.process_doc(document, mappings=dict(arguments))
    return str(document.toprettyxml(indent='  '))


def _choice(error: str, given: dict[str, Any], request: dict[str, Any]) -> Choice | None:
    """Return a launch file's value for the argument behind a failed expansion, if any."""
    name = request['file']
    if name is None:
        return None
    # also those with a default
    values = dict(xacro.substitution_args_context.get('arg', {}))
    return choose(error, values, given, Path(name).resolve())


def _guard(request: dict[str, Any], secrets: set[str]) -> None:
    """Replace xacro's functions by checked ones; secrets: receives environment values read."""
    evaluate, evaluate_argument = xacro.safe_eval, substitution_args._eval
    substitute = xacro.eval_extension

    def checked(expression: str, *scopes: Any) -> Any:
        _check(expression)
        return evaluate(expression, *scopes)

    def checked_argument(expression: str, context: Any) -> Any:
        _check(expression)
        return evaluate_argument(expression, context)

    def substituted(text: str) -> Any:
        try:
            return substitute(text)
        except xacro.XacroException as err:
            # xacro would repeat the reason
            raise err.exc if isinstance(err.exc, RefusedError) else err from None

    def noted(read_variable: Callable[..., Any]) -> Callable[..., Any]:
        def value(*args: Any, **kwargs: Any) -> Any:
            found = read_variable(*args, **kwargs)
            if len(found) >= _SHORTEST_SECRET and args[0] in os.environ:
                secrets.add(found)
            return found

        return value

    def find(package: str) -> str:
        base = None if request['file'] is None else Path(request['file']).resolve().parent
        found = find_package(package, base, request['package_paths'])
        if found is None:
            raise RefusedError(explain_missing(package))
        return str(found)

    def folder(_: object = None) -> str:
        current = xacro.filestack[-1]
        if current is None:
            raise RefusedError('$(dirname) stands in a text that comes from no file')
        return os.path.dirname(os.path.abspath(str(current)))

    xacro.safe_eval, substitution_args._eval = checked, checked_argument
    xacro.eval_extension, xacro.open = substituted, _open
    yaml.safe_load = _load_yaml  # type: ignore[assignment]
    for name, value in _OF_ROS_2.items():
        os.environ.setdefault(name, value)
    for name, function in (
        ('env', noted(substitution_args._eval_env)),
        ('optenv', noted(substitution_args._eval_optenv)),
        ('find', find),
    ):
        setattr(substitution_args, f'_eval_{name}', function)
        substitution_args._eval_dict[name] = function
    substitution_args._eval_dirname = folder
    xacro.substitution_args_context['filename'] = request['file']
    # these two functions in the namespace `python` give access to forbidden names
    functions = xacro._global_symbols['python']
    dict.pop(functions, 'vars', None)
    dict.__setitem__(functions, 'type', lambda value: type(value))


def _check(expression: str) -> None:
    """Raise RefusedError for an expression with names leading to Python's internal objects."""
    for node in ast.walk(ast.parse(expression.strip(), mode='eval')):
        attribute, variable = getattr(node, 'attr', ''), getattr(node, 'id', '')
        name = attribute or variable
        if name.startswith('__') or attribute in _FORBIDDEN:
            raise RefusedError(f'invalid name {name!r}: it leads to objects of Python')


def _open(path: str, mode: str = 'r') -> BinaryIO:
    """Return a file's content; the caller determines the encoding."""
    content = io.BytesIO(read_file(in_sources(Path(path)) or path))
    content.name = path
    return content


def _load_yaml(file: Any) -> Any:
    """Return a YAML file's content; errors do not show any of it."""
    name = os.path.realpath(file.name)
    if not name.endswith(_YAML_SUFFIXES):
        raise RefusedError(f'load_yaml reads {", ".join(_YAML_SUFFIXES)}, not {name!r}')
    try:
        return load_yaml(file.read(), yaml.SafeLoader)
    except YamlTextError as err:
        raise RefusedError(f'{name} is not YAML (line {err.line})') from None


def _without(secrets: set[str], text: str) -> str:
    """Return a text without values of environment variables."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, '…')
    return text
