"""Code style rules checked by machine."""

from __future__ import annotations

import ast
from pathlib import Path
import re
import subprocess
import sys


def tracked_files(repository: Path) -> list[Path]:
    """List the files known to git, or new and not ignored."""
    listing = subprocess.run(
        ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '-z'],
        cwd=repository,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    paths = [repository / name for name in listing.split('\0') if name]
    return [path for path in paths if path.is_file()]


def python_files(repository: Path) -> list[Path]:
    """List the checkout's Python files."""
    return [path for path in tracked_files(repository) if path.suffix == '.py']


def package_modules(repository: Path) -> dict[str, Path]:
    """Return every module of the package with its file."""
    found = {}
    for path in python_files(repository):
        parts = path.relative_to(repository).with_suffix('').parts
        if parts[0] == 'sim_bridge':
            found['.'.join(parts).removesuffix('.__init__')] = path
    return found


def test_library_works_without_ros():
    """Import the library without importing rclpy."""
    code = 'import sys, sim_bridge; assert sim_bridge.World and "rclpy" not in sys.modules'
    subprocess.run([sys.executable, '-c', code], check=True)


def test_every_folder_with_code_is_a_package(repository):
    """Require an __init__.py in every package folder; other folders are not installed."""
    folders = {path.parent for path in package_modules(repository).values()}
    assert not [folder for folder in folders if not (folder / '__init__.py').is_file()]


def test_tests_are_functions_with_docstrings(repository):
    """Write tests as functions with a docstring, without classes around them."""
    wrong = []
    for path in (repository / 'test').rglob('test_*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name.startswith('Test'):
                wrong.append(f'{path.name}:{node.lineno}: class {node.name}')
            is_test = isinstance(node, ast.FunctionDef) and node.name.startswith('test_')
            if is_test and not ast.get_docstring(node):
                wrong.append(f'{path.name}:{node.lineno}: {node.name} has no docstring')
    assert not wrong, '\n'.join(wrong)


def documents(repository: Path) -> list[Path]:
    """List the checkout's documents."""
    return [path for path in tracked_files(repository) if path.suffix == '.md']


def test_paths_named_in_documents_exist(repository):
    """Name only existing files and folders in documents' backticks."""
    roots = [repository, repository / 'sim_bridge']
    top = {path.name for root in roots for path in root.iterdir()}
    missing = []
    for document in documents(repository):
        # `path`, or `path: description`
        for name in re.findall(r'`([\w.-]+/[\w./-]*)(?:: [^`]*)?`', document.read_text()):
            is_path = name.endswith('/') or Path(name).suffix in ('.md', '.py', '.urdf', '.yaml')
            is_ours = is_path and name.split('/')[0] in top
            if is_ours and not any((root / name).exists() for root in roots):
                missing.append(f'{document.relative_to(repository)}: {name}')
    assert not missing, '\n'.join(missing)


def test_documents_named_in_code_exist(repository):
    """Name only existing documents in code."""
    missing = [
        f'{path.relative_to(repository)}: {name}'
        for path in python_files(repository)
        for name in re.findall(r'docs/[\w/.-]*\.(?:md|yaml|png)', path.read_text())
        if not (repository / name).exists()
    ]
    assert not missing, '\n'.join(missing)


def test_links_between_documents_lead_somewhere(repository):
    """Link only to existing files and headings."""
    wrong = []
    for document in documents(repository):
        for link in re.findall(r'\]\((?!https?:)([^)\s]+)\)', document.read_text()):
            name, _, heading = link.partition('#')
            target = document.parent / name if name else document
            if not target.exists() or heading and heading not in headings(target):
                wrong.append(f'{document.relative_to(repository)}: {link}')
    assert not wrong, '\n'.join(wrong)


def test_make_targets_of_documents_exist(repository):
    """Name only targets of the Makefile in documents, and all of them in command_line.md."""
    makefile = (repository / 'Makefile').read_text()
    targets = set(re.findall(r'^([a-z-]+):.*## ', makefile, re.MULTILINE))
    assert {'run', 'test', 'docs'} <= targets
    shown = r'(?:`|^)make ([a-z][^`#\n&]*)'
    wrong = []
    for document in documents(repository):
        for words in re.findall(shown, document.read_text(), re.MULTILINE):
            named = re.findall(r'(?<![\w=\'"./-])[a-z-]+(?![\w=./])', words.partition('ARGS')[0])
            wrong += [f'{document.name}: make {name}' for name in named if name not in targets]
    assert not wrong, '\n'.join(wrong)
    table = (repository / 'docs' / 'command_line.md').read_text().partition('## make')[2]
    assert set(re.findall(r'`make ([a-z-]+)', table)) == targets


def headings(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    titles = re.findall(r'^#+ (.*)$', document.read_text(), re.MULTILINE)
    return {re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-') for title in titles}


def test_nothing_names_this_machine(repository):
    """Commit no absolute path on a developer's machine and no private package host."""
    # built from parts, so this file does not match itself
    homes = '|'.join(['root', 'home/[a-z]', 'work', 'Users/[A-Z]', 'opt/pypi'])
    registries = '|'.join(['py' r'pi\.org', 'python' r'hosted', 'index[-]url', 'find[-]links'])
    pattern = re.compile(rf'(?<![\w.<}}])/(?:{homes})(?:/|\b)|{registries}')
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
