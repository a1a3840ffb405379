"""What a machine can check of the way this code is written, a machine checks."""

from __future__ import annotations

import ast
from pathlib import Path
import re
import subprocess
import sys

import pytest

# Which of our own layers each layer may import, beside itself; imports point one way.
LAYERS = {
    'errors': set(),
    'values': {'errors'},
    'version': set(),
    'compiler': set(),
    'engine': {'compiler', 'errors'},
    'description': {'engine', 'errors', 'values'},
    'sensors': {'compiler', 'description', 'engine', 'errors', 'values'},
    'library': {'compiler', 'description', 'engine', 'errors', 'sensors', 'values', 'version'},
    'control': {
        'description', 'engine', 'errors', 'library', 'ros', 'sensors', 'values', 'version'},
    'ros': {
        'compiler', 'description', 'engine', 'errors', 'library', 'sensors', 'values', 'version'},
    'cli': {'compiler', 'control', 'description', 'errors', 'library', 'ros', 'values', 'version'},
    '__main__': {'cli'},
}

# modules right in the package that are no layer of their own: the library's face
LIBRARY = 'library'

ROS_LAYERS = {'cli', 'control', 'ros'}
ROS_PACKAGES = {
    'ament_index_python', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs', 'launch',
    'launch_ros', 'nav_msgs', 'rcl_interfaces', 'rclpy', 'rosgraph_msgs', 'sensor_msgs',
    'std_msgs', 'std_srvs', 'trajectory_msgs', 'visualization_msgs',
}

ENGINE_PACKAGES = {'compiler': {'llvmlite', 'numpy'}, 'engine': {'numpy'}}
ENGINE_FORBIDDEN = {'logging', 'xml'}


def tracked_files(repository: Path) -> list[Path]:
    """List the files of the checkout that git knows or would add."""
    listing = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z'],
        cwd=repository, stdout=subprocess.PIPE, text=True, check=True,
    ).stdout
    paths = [repository / name for name in listing.split('\0') if name]
    return [path for path in paths if path.is_file()]


def python_files(repository: Path) -> list[Path]:
    """List the Python files of the checkout."""
    return [path for path in tracked_files(repository) if path.suffix == '.py']


def layer_of(module: str) -> str:
    """Give the layer of a module of this package by its full name."""
    parts = module.split('.')
    name = parts[1] if len(parts) > 1 else LIBRARY
    return name if name in LAYERS else LIBRARY


def imports_of(path: Path) -> set[str]:
    """List the full names of all modules that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}: relative import'
            found.add(node.module)
            if node.module == 'sim_bridge':
                found.update(f'sim_bridge.{alias.name}' for alias in node.names)
                found.discard('sim_bridge')
    return found


def package_modules(repository: Path) -> dict[str, Path]:
    """Give every module of the package with its file."""
    found = {}
    for path in python_files(repository):
        parts = path.relative_to(repository).with_suffix('').parts
        if parts[0] == 'sim_bridge':
            found['.'.join(parts).removesuffix('.__init__')] = path
    return found


def test_ruff_finds_nothing(repository):
    """Pass the linter, which says what ament_flake8 and ament_pep257 would, and more."""
    result = subprocess.run(
        [sys.executable, '-m', 'ruff', 'check', '--no-cache', '--output-format', 'concise'],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_layers_import_one_way(repository):
    """Import along ros -> world -> description, sensors -> engine, and never back."""
    wrong = [
        f'{module} imports {imported}'
        for module, path in package_modules(repository).items()
        for imported in imports_of(path)
        if imported.split('.')[0] == 'sim_bridge'
        and layer_of(imported) not in LAYERS[layer_of(module)] | {layer_of(module)}
    ]
    assert not wrong, '\n'.join(sorted(wrong))


def test_ros_stays_in_its_layers(repository):
    """Import rclpy and messages in ros, control and cli only."""
    wrong = [
        f'{module} imports {imported}'
        for module, path in package_modules(repository).items()
        if layer_of(module) not in ROS_LAYERS
        for imported in imports_of(path)
        if imported.split('.')[0] in ROS_PACKAGES
    ]
    assert not wrong, '\n'.join(sorted(wrong))


def test_library_works_without_ros():
    """Import the library without importing rclpy."""
    code = 'import sys, sim_bridge; assert sim_bridge.World and "rclpy" not in sys.modules'
    subprocess.run([sys.executable, '-c', code], check=True)


def test_engine_and_compiler_know_numpy_and_llvmlite_only(repository):
    """Import there numpy, in the compiler llvmlite, and the standard library without XML."""
    standard = set(sys.stdlib_module_names) - ENGINE_FORBIDDEN
    wrong = [
        f'{module} imports {imported}'
        for module, path in package_modules(repository).items()
        for imported in imports_of(path)
        if layer_of(module) in ENGINE_PACKAGES
        and imported.split('.')[0] not in standard | ENGINE_PACKAGES[layer_of(module)] | {
            'sim_bridge'}
    ]
    assert not wrong, '\n'.join(sorted(wrong))


def test_every_folder_with_code_is_a_package(repository):
    """Have an __init__.py in every folder of the package, or it would not be installed."""
    folders = {path.parent for path in package_modules(repository).values()}
    assert not [folder for folder in folders if not (folder / '__init__.py').is_file()]


def test_tests_are_functions_that_say_what_they_demand(repository):
    """Write tests as functions with a docstring, without classes around them."""
    wrong = []
    for path in (repository / 'test').glob('test_*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.startswith('Test'):
                wrong.append(f'{path.name}:{node.lineno}: class {node.name}')
            is_test = isinstance(node, ast.FunctionDef) and node.name.startswith('test_')
            if is_test and not ast.get_docstring(node):
                wrong.append(f'{path.name}:{node.lineno}: {node.name} has no docstring')
    assert not wrong, '\n'.join(wrong)


@pytest.mark.parametrize('document', ['ARCHITECTURE.md', 'README.md'])
def test_paths_named_in_documents_exist(repository, document):
    """Name in the documents, in backticks, no path that is not there."""
    text = (repository / document).read_text()
    named = re.findall(r'`([\w./-]+)`', text)
    roots = {path.name for path in repository.iterdir()} | {
        path.name for path in (repository / 'sim_bridge').iterdir()
    }
    paths = [name for name in named if name.split('/')[0] in roots]
    assert paths, f'{document} names no path'
    missing = [
        name for name in paths
        if not (repository / name).exists() and not (repository / 'sim_bridge' / name).exists()
    ]
    assert not missing, f'{document} names what is not there: {missing}'


def test_nothing_names_this_machine(repository):
    """Commit no absolute path of a developer's machine and no host packages are fetched from."""
    # built from parts, so that this file does not match itself
    homes = '|'.join(['ro' 'ot', 'ho' 'me/[a-z]', 'wo' 'rk', 'Us' 'ers/[A-Z]', 'opt/py' 'pi'])
    registries = '|'.join(['py' r'pi\.org', 'python' r'hosted', 'index' '-url', 'find' '-links'])
    pattern = re.compile(rf'(?<![\w.}}])/(?:{homes})(?:/|\b)|{registries}')
    wrong = []
    for path in tracked_files(repository):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture
        wrong += [
            f'{path.relative_to(repository)}:{number}: {line.strip()[:120]}'
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    assert not wrong, '\n'.join(wrong)
