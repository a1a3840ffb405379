"""Every term in a parity table has existing names as its answer, and a test."""

from __future__ import annotations

import ast
from functools import cache
import inspect
from pathlib import Path
import re
from types import ModuleType

import pytest

import sim_bridge as sb

HEADER = ['Term in the manual', 'Here', 'Shown by']
PAGES = sorted(
    path
    for path in (Path(__file__).parents[2] / 'docs' / 'parity').glob('*.md')
    if path.name != 'README.md'
)


def rows_of(page: Path) -> list[tuple[int, list[str]]]:
    """Return a page's table rows, cells without white space, with their lines."""
    return [
        (number, [cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]])
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if line.startswith('|')
    ]


@cache
def functions_of(path: Path) -> set[str]:
    """Return the test functions in a file; none if there is no file."""
    if not path.is_file():
        return set()
    return {
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    }


def names_in(cell: str) -> list[str]:
    """Return the sim_bridge names in a cell, by the rule in docs/parity/README.md."""
    codes = re.findall(r'`([^`]+)`', cell)
    names = (re.match(r'(?:(?:sb|sim_bridge)\.|[A-Z]\w*(?=[.(]))[\w.]*…?', code) for code in codes)
    return [found[0] for found in names if found]


def is_there(name: str) -> bool:
    """Return whether a name resolves part by part; `…`: a name with this beginning exists."""
    owner: object = sb
    first, *rest = name.split('.')
    for part in rest if first in ('sb', 'sim_bridge') else (first, *rest):
        if part.endswith('…'):
            return any(each.startswith(part[:-1]) for each in dir(owner))
        found = getattr(owner, part, None)
        if found is None and not has_attribute(owner, part):
            return False
        owner = found
    return True


def has_attribute(owner: object, name: str) -> bool:
    """Return whether a module has a value None, or instances of a class have an attribute."""
    if isinstance(owner, ModuleType):
        return hasattr(owner, name)
    return inspect.isclass(owner) and any(
        name in vars(each)
        or name in vars(each).get('__annotations__', ())
        or re.search(rf'\bself\.{name}\b[^=()]*=[^=]', inspect.getsource(each))
        for each in owner.__mro__
        if each.__module__.startswith('sim_bridge')
    )


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_every_row_holds(page):
    """Answer every term by existing names, and link existing tests."""
    wrong, rows = [], 0
    for line, cells in rows_of(page):
        if cells == HEADER or all(re.fullmatch(':?-+:?', cell) for cell in cells):
            continue
        rows += 1
        if len(cells) != 3 or not all(cells):
            wrong.append(f'{line}: expected | {" | ".join(HEADER)} |, got {cells}')
            continue
        wrong += [
            f'{line}: no name of sim_bridge: {name}'
            for name in names_in(cells[1])
            if not is_there(name)
        ]
        links = re.findall(r'\[(test_\w+)\]\(([^)\s]+\.py)\)', cells[2])
        if not links:
            wrong.append(f'{line}: no link [test_name](../../test/…/test_file.py): {cells[2]}')
        wrong += [
            f'{line}: no test {name} in {path}'
            for name, path in links
            if name not in functions_of((page.parent / path).resolve())
        ]
    assert rows and not wrong, f'{page.name}:\n' + '\n'.join(wrong)


@pytest.mark.parametrize(
    ('cell', 'wrong'),
    [
        ('`World.raycast(a, b)`, `sb.ode.Body.setPosition`, `sb.ode.environment`', []),
        ('`World(solver=…)`, `sb.ode.ParamVel`, `Material.friction`, `sb.ode.World.engine`', []),
        ('`sb.ode.World.setAuto…`; `solver: direct`, `/joint_states`, `friction`, `F = m a`', []),
        ('`World.casts`', ['World.casts']),
        ('`Wrld.step`', ['Wrld.step']),
        ('`sb.ode.World.setManual…`', ['sb.ode.World.setManual…']),
        ('`Wrld(cfm=0)`, `sim_bridge.od.Body`', ['Wrld', 'sim_bridge.od.Body']),
    ],
)
def test_library_names_are_recognized(cell, wrong):
    """Count names beginning with the package or a capital, and find the missing ones."""
    assert [name for name in names_in(cell) if not is_there(name)] == wrong


def test_no_function_of_ode_is_left_out(repository):
    """Have a row for each function exported by ODE's library."""
    from benchmarks.peers import libode

    names = {
        name.decode()
        for name in re.findall(rb'(?<=\0)d[A-Z]\w+(?=\0)', Path(libode._library).read_bytes())
    }
    functions = {name for name in names if hasattr(libode._ode, name)}
    terms = ' '.join(cells[0] for _, cells in rows_of(repository / 'docs' / 'parity' / 'ode.md'))
    assert len(functions) > 500
    assert not functions - set(re.findall(r'\w+', terms))
