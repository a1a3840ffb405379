"""Kernel contract: the signature states truthfully which arguments are read and written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import sim_bridge

PACKAGE = Path(sim_bridge.__file__).parent

# parameters containing many arrays: those a kernel may write, and those that never change
MUTABLE = {
    'state',
    'ws',
    'contacts',
    'laws',
    'islands',
    'rows',
    'solution',
    'response',
    'direct',
    'scratch',
    'work',
    'coordinates',
    'polygon',
    'elements',
}
CONSTANT = {'model', 'options', 'contact_materials', 'loops'}

# locations: kernels and their compiler
_OF_KERNELS = (
    'sim_bridge.engine.',
    'sim_bridge.compiler.',
    'sim_bridge.sensors.columns.',
    'sim_bridge.sensors.noise_kernels.',
    'sim_bridge.sensors.readings.',
    'sim_bridge.sensors.measure.',
    'sim_bridge.sensors.place_readings.',
    'sim_bridge.sensors.step_and_sample.',
)

# decorators that make a function a kernel
MARKS = {'kernel', 'subroutine', 'entry'}

# groups in a long signature, in order; written parameters follow without a comment
GROUPS = ['model', 'state (read)', 'scratch', '']


@dataclass
class Kernel:
    """A kernel's source; groups: comment behind each parameter's line."""

    file: str
    node: ast.FunctionDef
    groups: dict[str, str]

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    def may_write(self, parameter: str) -> bool:
        """Return whether the signature permits writing a parameter."""
        return (
            parameter.endswith(('_out', '_inout'))
            or parameter in MUTABLE
            or self.groups.get(parameter) == 'scratch'
        )


def kernels_of(source: str, file: str) -> list[Kernel]:
    """Find a file's decorated functions."""
    lines = source.splitlines()
    return [
        Kernel(
            file,
            node,
            {
                argument.arg: lines[argument.lineno - 1].partition('#')[2].strip()
                for argument in node.args.args
            },
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id in MARKS for mark in node.decorator_list)
    ]


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Split `a, b = x, y`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its_value in zip(target.elts, value.elts, strict=True):
            yield from pairs(one, its_value)
    elif isinstance(target, ast.Tuple):
        for one in target.elts:
            yield one, value
    else:
        yield target, value


def root(node: ast.expr, views: dict[str, str]) -> str:
    """Return the name of the array behind an element or view, '' if there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return views.get(node.id, node.id) if isinstance(node, ast.Name) else ''


def written_names(kernel: Kernel, kernels: dict[str, Kernel]) -> Iterator[tuple[str, int]]:
    """List names written by a kernel or its called kernels, with line numbers."""
    statements = sorted(
        (
            node
            for node in ast.walk(kernel.node)
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.Call))
        ),
        key=lambda node: (node.lineno, node.col_offset),
    )
    views: dict[str, str] = {}
    for node in statements:
        if isinstance(node, ast.Call):
            callee = kernels.get(getattr(node.func, 'id', ''))
            if callee:
                for parameter, argument in zip(callee.groups, node.args, strict=True):
                    if callee.may_write(parameter):
                        yield root(argument, views), node.lineno
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target, value in (pair for one in targets for pair in pairs(one, node.value)):
            if isinstance(target, ast.Subscript):
                yield root(target, views), node.lineno
            elif isinstance(target, ast.Name) and isinstance(value, (ast.Subscript, ast.Name)):
                views[target.id] = root(value, views)


def faults(kernels: list[Kernel]) -> Iterator[str]:
    """Yield contract breaches."""
    by_name = {kernel.name: kernel for kernel in kernels}
    for kernel in kernels:
        place = f'{kernel.file}: {kernel.name}'
        written = set()
        for name, line in written_names(kernel, by_name):
            written.add(name)
            if name in CONSTANT or (name in kernel.groups and not kernel.may_write(name)):
                yield f'{place} writes {name} in line {line}'
        for name in kernel.groups:
            if name.endswith(('_out', '_inout')) and name not in written:
                yield f'{place} does not write {name}'
        if not kernel.name.startswith('_') and not ast.get_docstring(kernel.node):
            yield f'{place} has no docstring'
        yield from (f'{place} {fault}' for fault in faults_of_signature(kernel))


def faults_of_signature(kernel: Kernel) -> Iterator[str]:
    """Yield errors in a long signature's groups."""
    groups = list(kernel.groups.values())
    if not any(groups):
        return
    unknown = set(groups) - set(GROUPS)
    if unknown:
        yield f'has unknown groups: {sorted(unknown)}'
    elif groups != sorted(groups, key=GROUPS.index):
        yield 'has its groups in another order'
    are_written = [
        name.endswith(('_out', '_inout')) for name in kernel.groups if name not in MUTABLE
    ]
    if are_written != sorted(are_written):
        yield 'has parameters after those it writes'


@cache
def all_kernels() -> list[Kernel]:
    """Find all kernels in the engine and the sensors."""
    return [
        kernel
        for path in sorted(PACKAGE.rglob('*.py'))
        for kernel in kernels_of(path.read_text(), path.relative_to(PACKAGE).as_posix())
    ]


def test_every_kernel_keeps_the_contract():
    """Write exactly the arguments announced by the signature; have a docstring."""
    kernels = all_kernels()
    assert len(kernels) > 60
    assert not list(faults(kernels))


def test_kernels_have_names_of_their_own():
    """Give each kernel a unique name, so that calls can be followed."""
    names = [kernel.name for kernel in all_kernels()]
    assert len(set(names)) == len(names)


def test_files_of_kernels_import_mathematics_only():
    """Import only `math`, the compiler and kernel files in a kernel file."""
    wrong = []
    for name in sorted({kernel.file for kernel in all_kernels()}):
        for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
            modules = []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            wrong += [
                f'{name}: {module}'
                for module in modules
                if module not in ('__future__', 'math')
                and not f'{module}.'.startswith(_OF_KERNELS)
            ]
    assert not wrong


@pytest.mark.parametrize(
    ('source', 'expected'),
    [
        ('def f(a):\n    "Say."\n    a[0] = 1.0', 'f writes a in line 4'),
        ('def f(a):\n    "Say."\n    a[0, 1] += 1.0', 'f writes a in line 4'),
        ('def f(a):\n    "Say."\n    x, a[0] = 1.0, 2.0', 'f writes a in line 4'),
        ('def f(a):\n    "Say."\n    v, w = a[1], 2.0\n    v[0] = w', 'f writes a in line 5'),
        ('def f(a):\n    "Say."\n    store(1.0, a)', 'f writes a in line 4'),
        ('def f(a):\n    "Say."\n    row = a[1]\n    store(1.0, row)', 'f writes a in line 5'),
        ('def f(model):\n    "Say."\n    model.q[0] = 1.0', 'f writes model in line 4'),
        (
            'def f(t):\n    "Say."\n    model = g(t)\n    store(1.0, model.q)',
            'f writes model in line 5',
        ),
        ('def f(a_out):\n    "Say."\n    return a_out[0]', 'f does not write a_out'),
        ('def f(a):\n    return a[0]', 'f has no docstring'),
        (
            'def f(\n    q,  # state (read)\n    n,  # model\n):\n    "Say."',
            'f has its groups in another order',
        ),
        ('def f(\n    n,  # modle\n):\n    "Say."', "f has unknown groups: ['modle']"),
        (
            'def f(\n    n,  # model\n    x_out, h,\n):\n    "Say."\n    x_out[0] = h',
            'f has parameters after those it writes',
        ),
    ],
)
def test_breach_of_the_contract_is_found(source, expected):
    """Find each breach kind in a kernel committing it."""
    store = '@kernel\ndef store(x, array_out):\n    "Store."\n    array_out[0] = x\n'
    kernels = kernels_of('@kernel\n' + source, 'bad.py')
    assert list(faults(kernels + kernels_of(store, 'good.py'))) == [f'bad.py: {expected}']
