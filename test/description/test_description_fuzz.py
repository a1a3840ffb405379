"""Random damage to a description gives a report or a robot, never anything else."""

from __future__ import annotations

from pathlib import Path
import random
import re

import pytest
from urdf_cases import WHOLE

from sim_bridge.description import DescriptionError, load_description

TOKEN = re.compile(r'<[^>]*>|"[^"]*"|[^<>"]+')
WORDS = re.compile(r'[A-Za-z_0-9.]+')
NASTY = [
    '',
    '0',
    '-1',
    'nan',
    'inf',
    '1e999',
    '1e-320',
    '1e300',
    '-1e-160',
    '1 2',
    '\u0661',
    '\u00bd',
    'a b',
    '&amp;',
    '&x;',
    '\0',
    '\ud800',
    '<',
    '>',
    '"',
    '--',
    ']]>',
    '<!--',
    '<![CDATA[',
    '<!DOCTYPE r>',
    '<?x?>',
    'world',
    'j',
    'x' * 300,
    '${1/0}',
    '\U0001f916',
]


def damage(rng: random.Random) -> str:
    """Return the description with one to four pieces swapped, doubled, dropped or replaced."""
    text = WHOLE
    for _ in range(rng.randint(1, 4)):
        pattern = rng.choice((TOKEN, WORDS))
        pieces = [match.span() for match in pattern.finditer(text)]
        start, end = rng.choice(pieces)
        other = slice(*rng.choice(pieces))
        replacement = rng.choice(
            (
                '',
                text[start:end] * 2,
                text[other],
                rng.choice(NASTY),
                text[start:end] + rng.choice(NASTY),
            )
        )
        text = text[:start] + replacement + text[end:]
    return text


def outcome(source: str | Path) -> bool:
    """Load; return whether it worked. A refusal must give a reason, in words and in a report."""
    try:
        report = load_description(source).report
    except DescriptionError as err:
        report = err.report
    assert all(finding.message and finding.code for finding in report.findings)
    assert report.to_json()
    return report.ok


def test_the_whole_description_loads():
    """Start from a faultless description."""
    assert outcome(WHOLE)


@pytest.mark.parametrize('seed', range(6))
def test_damaged_descriptions_load_or_are_refused(seed):
    """Load hundreds of damaged descriptions; both outcomes must occur."""
    rng = random.Random(seed)
    outcomes = [outcome(damage(rng)) for _ in range(100)]
    assert {True, False} == set(outcomes)


def test_damaged_bytes_load_or_are_refused(tmp_path):
    """Flip bytes in a file, even in its encoding; both outcomes must occur."""
    rng = random.Random(0)
    path = tmp_path / 'damaged.urdf'
    for encoding in ('utf-8', 'utf-16'):
        outcomes = []
        for _ in range(100):
            data = bytearray(WHOLE.encode(encoding))
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            outcomes.append(outcome(path))
        assert {True, False} == set(outcomes)


def test_deep_and_wide_files_end():
    """Read thousands of nested tags, chained links, and attributes."""
    deep = '<a>' * 20_000 + '</a>' * 20_000
    assert outcome(f'<robot name="r"><link name="l">{deep}</link></robot>')
    count = 400
    ball = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = ''.join(f'<link name="l{i}">{ball}</link>' for i in range(count))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous">'
        f'<parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    )
    assert outcome(f'<robot name="r">{links}{joints}</robot>')
    wide = ' '.join(f'a{i}="1"' for i in range(5000))
    assert outcome(f'<robot name="r"><link name="l" {wide}/></robot>')
