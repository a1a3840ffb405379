"""Values set in YAML content by path, such as `objects.ball.position[2]`."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

from sim_bridge.foundation.errors import brief, InvalidValueError

_EXPECTED = (
    'keys with dots between, items of lists by their numbers, such as a.b[2]; keys with other '
    "characters than letters, digits, _ and - in quotes, such as a['b.c']"
)
_STEP = re.compile(
    r"""\.?(?P<key>[A-Za-z_][\w-]*)|\[(?P<item>\d{1,6})\]|\[(?P<quote>['"])(?P<name>.+?)(?P=quote)\]""",
    re.ASCII,
)

Path = tuple[str | int, ...]
"""Keys in mappings, and list indices."""


def read_path(text: object, subject: str) -> Path:
    """Return a path's steps; raises InvalidValueError about `subject`."""
    steps: list[str | int] = []
    at = 0
    while isinstance(text, str) and at < len(text):
        match = _STEP.match(text, at)
        if match is None or bool(at and match['key']) != text.startswith('.', at):
            break
        steps.append(int(match['item']) if match['item'] else match['key'] or match['name'])
        at = match.end()
    if not isinstance(text, str) or at < len(text) or not steps or isinstance(steps[0], int):
        raise InvalidValueError(subject, text, _EXPECTED)
    return tuple(steps)


def path_text(path: Path) -> str:
    """Return a path's text."""
    text = ''
    for step in path:
        if isinstance(step, int):
            text += f'[{step}]'
        elif re.fullmatch(r'[A-Za-z_][\w-]*', step, re.ASCII):
            text += f'.{step}' if text else step
        else:
            text += f'[{step!r}]'
    return text


def overlaid(content: Mapping[str, Any], values: Mapping[Path, Any]) -> Mapping[str, Any]:
    """
    Return a copy of a content with other values at some paths.

    Missing keys are added, so that a value can replace a default of the file format. Lines are
    kept. Raises InvalidValueError for a path through a value other than a mapping or list, or to a
    missing list item.
    """
    found: Any = content
    for path, value in values.items():
        found = _with(found, path, value, path)
    result: Mapping[str, Any] = found
    return result


def _with(content: Any, path: Path, value: Any, whole: Path) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        is_list = isinstance(content, (list, tuple))
        if not is_list or step >= len(content):
            raise InvalidValueError(
                'path',
                path_text(whole),
                f'the number of an existing item, below {len(content)}'
                if is_list
                else f'no item number, since {brief(content)} is not a list',
            )
        items = list(content)
        items[step] = _with(items[step], rest, value, whole)
        return items
    if not isinstance(content, Mapping):
        if content is not None:
            raise InvalidValueError(
                'path',
                path_text(whole),
                f'no key {step!r}, since {brief(content)} is not a mapping',
            )
        content = {}
    # imported here, since most worlds are made without YAML files
    from sim_bridge.description.yaml.file import MappingWithLines

    copy = MappingWithLines(content)
    copy.lines = dict(getattr(content, 'lines', {}))
    copy[step] = _with(content.get(step), rest, value, whole)
    return copy
