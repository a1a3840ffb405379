"""
YAML text, read in time and memory bounded by its size.

The parser's events are counted before anything is built; an alias counts as much as the value it
repeats. Walking or printing the result therefore meets no more values than were counted.
"""

from __future__ import annotations

from typing import Any

import yaml

# six times a scene with 20 000 objects; takes half a minute
MOST_NODES = 2_000_000
# values repeated by aliases
_MOST_REPEATED = 100_000
_MOST_LEVELS = 100
_LONGEST_KEY = 1000
_LONGEST_NUMBER = 400
_MOST_BITS = 64

# libyaml's parser is ten times faster than Python's
_FAST: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class YamlTextError(ValueError):
    """Invalid or too large YAML text. problem: the defect. line: from 1, or 0 if unknown."""

    def __init__(self, problem: str, line: int = 0):
        self.problem, self.line = problem, line
        super().__init__(f'line {line}: {problem}' if line else problem)


class TextLoader(_FAST):  # type: ignore[misc]
    """Builds plain data; reports every rejected value with its line."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return a node's value; raises YAMLError for an invalid value."""
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as err:
            kind = node.tag.rpartition(':')[2]
            reason = f' ({err})' if isinstance(err, ValueError) else ''
            raise _error(f'an invalid value of type {kind}{reason}', node) from err
        if type(value) is int and value.bit_length() > _MOST_BITS:
            raise _error(f'an integer of {value.bit_length()} bits; at most {_MOST_BITS}', node)
        return value

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; raises YAMLError for keys that are lists or mappings."""
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            self.check_key(key)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping

    def check_key(self, node: yaml.Node) -> None:
        """Raise YAMLError for a key that is a list or a mapping."""
        if not isinstance(node, yaml.ScalarNode):
            raise _error('a key must be a text or a number', node)


def load_yaml(data: bytes | str, loader: Any = TextLoader) -> Any:
    """
    Return the content of a YAML text as plain data.

    loader: subclass of `TextLoader`, or one of PyYAML's safe loaders. Raises YamlTextError if the
    text is invalid, contains other than plain data, or is too large.
    """
    try:
        _check_size(data, _FAST if issubclass(loader, _FAST) else loader)
        return yaml.load(data, loader)
    except yaml.YAMLError as err:
        mark = getattr(err, 'problem_mark', None)
        problem = getattr(err, 'problem', None) or str(err).splitlines()[0]
        raise YamlTextError(problem, mark.line + 1 if mark else 0) from err
    except RecursionError as err:
        raise YamlTextError('is nested too deeply') from err
    except UnicodeDecodeError as err:
        raise YamlTextError(f'is not UTF-8: {err.reason} at byte {err.start}') from err
    except UnicodeEncodeError as err:
        # from bytes of a command line that are not UTF-8
        raise YamlTextError(f'is not UTF-8: character {err.start}') from err


def _check_size(data: bytes | str, loader: Any) -> None:
    """Raise YamlTextError for too many or too long parts, or too many levels."""
    sizes: dict[str, int | None] = {}
    # for each open list and mapping: anchor, node count, and whether a key is next
    levels: list[_Level] = []
    repeated = total = 0
    for event in yaml.parse(data, loader):
        size = 0
        if isinstance(event, yaml.ScalarEvent):
            size = 1
            _check_scalar(event, bool(levels) and levels[-1].is_key_next)
            if event.anchor is not None:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(levels) == _MOST_LEVELS:
                raise _limit(f'is nested too deeply: {_MOST_LEVELS} levels are read', event)
            if event.anchor is not None:
                sizes[event.anchor] = None
            levels.append(_Level(event.anchor, isinstance(event, yaml.MappingStartEvent)))
            continue
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = levels.pop()
            size = closed.nodes + 1
            if closed.anchor is not None:
                sizes[closed.anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            name = str(event.anchor)
            known = sizes.get(name, 0)
            if known is None:
                raise _limit(f'the alias *{name[:40]} contains itself', event)
            repeated += known
            size = known
        else:
            continue
        total += isinstance(event, yaml.NodeEvent)
        if repeated > _MOST_REPEATED:
            raise _limit(f'its aliases repeat more than {_MOST_REPEATED} values', event)
        if total > MOST_NODES:
            raise _limit(f'more than {MOST_NODES} values are not read', event)
        if levels:
            levels[-1].add(size)


class _Level:
    """List or mapping being read."""

    __slots__ = ('anchor', 'is_key_next', '_is_mapping', 'nodes')

    def __init__(self, anchor: str | None, is_mapping: bool):
        self.anchor, self.nodes = anchor, 0
        self._is_mapping = self.is_key_next = is_mapping

    def add(self, size: int) -> None:
        """Count an item."""
        self.nodes += size
        self.is_key_next = self._is_mapping and not self.is_key_next


def _check_scalar(event: yaml.ScalarEvent, is_key: bool) -> None:
    """Raise YamlTextError for a key or a number that is too long."""
    length = len(event.value)
    if is_key and length > _LONGEST_KEY:
        raise _limit(f'a key of {length} characters; at most {_LONGEST_KEY} are read', event)
    # interpreting numbers, dates and booleans takes more than linear time
    if event.implicit[0] and length > _LONGEST_NUMBER and event.value[0] in '+-.0123456789':
        raise _limit(f'a number of {length} characters; at most {_LONGEST_NUMBER} are read', event)


def _limit(problem: str, event: yaml.Event) -> YamlTextError:
    mark = event.start_mark
    return YamlTextError(problem, mark.line + 1 if mark else 0)


def _error(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
