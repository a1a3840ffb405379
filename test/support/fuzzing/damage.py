"""Damage: valid XML, plain data and bytes, changed by random numbers."""

from __future__ import annotations

from copy import deepcopy
from random import Random
import re
from typing import Any
from xml.etree import ElementTree

# xacro knows its elements by this prefix only
ElementTree.register_namespace('xacro', 'http://www.ros.org/wiki/xacro')

# texts to be refused or tolerated by readers of numbers, names, paths and expressions
TEXTS = (
    '',
    ' ',
    '0',
    '-0',
    '-1',
    '1',
    '1e308',
    '-1e308',
    '1e-320',
    '1e999',
    'nan',
    'inf',
    '-inf',
    '9' * 5000,
    '0x10',
    '1_0',
    '1,5',
    '\u0661',
    '1 2',
    '1 2 3',
    '0 0 0',
    'nan nan nan',
    '1e300 0 0',
    '0 0 0 0',
    'true',
    'null',
    'x' * 3000,
    '\U0001f916',
    '\u202e',
    'a b',
    'a/b',
    '/',
    '..',
    '../..',
    '/etc/passwd',
    '/dev/zero',
    'package://a/b',
    'package://',
    'file://',
    '${1/0}',
    '$(find x)',
    '$(arg x)',
    '${',
    '%s%n',
    '{}',
    '[',
    '-',
    'world',
    'base_link',
    'revolute',
    'floating',
)
# placeholder in plain data for an integer too large to be written as text
HUGE_INTEGER = 'HUGE_INTEGER'
# the same for readers of plain data
VALUES = (
    *TEXTS,
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    HUGE_INTEGER,
    0.0,
    -0.0,
    1e-320,
    1e308,
    -1e308,
    float('nan'),
    float('inf'),
    -float('inf'),
    [],
    {},
    [None],
    [[]],
    [0.0] * 3,
    [1e308] * 3,
    [float('nan')] * 3,
    [0.0] * 4,
    ['x'] * 3,
    list(range(2000)),
    {'': 0},
    {'x': {}},
    {1: 2},
    [{'x': [1, {}]}],
    b'\xff',
)
_MOST_CHANGES = 4


def damaged_xml(rng: Random, source: bytes) -> bytes:
    """Return a document with changed elements, attributes or values."""
    root = ElementTree.fromstring(source)
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        elements = list(root.iter())
        parents = {child: parent for parent in elements for child in parent}
        element, other = rng.choice(elements), rng.choice(elements)
        parent = parents.get(element)
        how = rng.randrange(8)
        if how == 0 and parent is not None:
            parent.remove(element)
        elif how == 1 and parent is not None:
            parent.insert(rng.randint(0, len(parent)), deepcopy(element))
        elif how == 2:
            element.append(deepcopy(other))
        elif how == 3:
            element.tag = other.tag
        elif how == 4:
            element.text = rng.choice(TEXTS)
        elif element.attrib:
            name = rng.choice(sorted(element.attrib))
            if how == 5:
                del element.attrib[name]
            elif how == 6 and other.attrib:
                element.set(name, other.get(rng.choice(sorted(other.attrib)), ''))
            else:
                element.set(name, _replaced_part(rng, element.get(name, '')))
    data: bytes = ElementTree.tostring(root)
    return damaged_bytes(rng, data) if rng.randrange(6) == 0 else data


def _replaced_part(rng: Random, text: str) -> str:
    """Replace a value, or one of several in a row."""
    words = text.split()
    if len(words) < 2 or rng.randrange(2):
        return rng.choice(TEXTS)
    words[rng.randrange(len(words))] = rng.choice(TEXTS)
    return ' '.join(words)


def damaged_lines(rng: Random, source: bytes) -> bytes:
    """Return an indented text with changed lines, words or indentations."""
    lines = source.decode().splitlines()
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        at, other = rng.randrange(len(lines)), rng.choice(lines)
        words = re.findall(r'\s+|\w+|[^\w\s]', lines[at]) or ['']
        how = rng.randrange(7)
        if how == 0:
            lines[at : at + 1] = []
        elif how == 1:
            lines.insert(at, other)
        elif how == 2:
            lines[at] = ' ' * rng.randrange(12) + lines[at].lstrip()
        elif how == 3:
            words.insert(rng.randrange(len(words)), rng.choice(words))
            lines[at] = ''.join(words)
        else:
            words[rng.randrange(len(words))] = rng.choice(
                (*TEXTS, *re.findall(r'\w+|[^\w\s]', other), '(', '[', '{', '"""', '.', ':', '-')
            )
            lines[at] = ''.join(words)
        lines = lines or ['']
    data = '\n'.join(lines).encode()
    return damaged_bytes(rng, data) if rng.randrange(6) == 0 else data


def damaged_data(rng: Random, source: Any) -> Any:
    """Return lists and mappings with changed keys or values."""
    whole = {'': deepcopy(source)}
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        places = list(_places(whole))
        (box, key), (other, other_key) = rng.choice(places), rng.choice(places)
        how = rng.randrange(6)
        if how == 0:
            box[key] = deepcopy(other[other_key])
        elif how == 1 and box is not whole:
            del box[key]
        elif how == 2 and isinstance(box, dict) and box is not whole:
            name = rng.choice((*TEXTS, 0, True, *(str(each) for _, each in places)))
            box[name] = deepcopy(box[key])
        else:
            box[key] = deepcopy(rng.choice(VALUES))
    return whole['']


def _places(box: Any) -> Any:
    """Yield all pairs (list or mapping, index or key) within a value."""
    for key in list(box) if isinstance(box, dict) else range(len(box)):
        yield box, key
        if isinstance(box[key], (dict, list)):
            yield from _places(box[key])


def damaged_bytes(rng: Random, source: bytes) -> bytes:
    """Return bytes with some flipped, doubled, missing or from another input."""
    data = bytearray(source)
    for _ in range(rng.randint(1, 2 * _MOST_CHANGES)):
        if not data:
            break
        at, length = rng.randrange(len(data)), rng.choice((1, 2, 8, 100))
        how = rng.randrange(6)
        if how == 0:
            data[at] = rng.randrange(256)
        elif how == 1:
            data[at : at + length] = b''
        elif how == 2:
            data[at:at] = data[at : at + length]
        elif how == 3:
            start = rng.randrange(len(data))
            data[at : at + length] = data[start : start + length]
        elif how == 4:
            data[at : at + length] = rng.choice(
                (
                    b'\x00',
                    b'\xff' * length,
                    b'\xff\xff\xff\x7f',
                    *(text.encode() for text in TEXTS[:30]),
                )
            )
        else:
            del data[at:]
    return bytes(data)
