"""Commands and files shown in documents and help texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import shlex
import shutil

import trimesh

from sim_bridge.cli.main import build_parser, VERBS

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [REPOSITORY / 'README.md', *sorted((REPOSITORY / 'docs').rglob('*.md'))]


def blocks(page: Path, language: str) -> list[str]:
    """Return a page's blocks in a language."""
    return re.findall(rf'^```{language}\n(.*?)^```', page.read_text(), re.MULTILINE | re.DOTALL)


def help_of(verb: str) -> str:
    """Return a verb's help text."""
    (action,) = (each for each in build_parser((verb,))._actions if isinstance(each.choices, dict))
    return action.choices[verb].format_help()


def commands_in(text: str) -> list[list[str]]:
    """Return the words of each `sim_bridge` command in a text, without the command itself."""
    joined = text.replace('\\\n', ' ')
    command = r'(?:\.venv/bin/)?(?:python -m )?sim_bridge'
    lines = re.findall(rf'^ *{command} ([a-z][^\n]*)', joined, re.MULTILINE)
    lines += re.findall(rf'[$<]\({command} ([^)\n]*)\)', joined)
    # pipes, redirections and & are the shell's
    plain = [re.split(r' (?:\||>|&)(?: |$)', line)[0] for line in lines]
    return [shlex.split(line, comments=True) for line in plain]


def shown_commands() -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the commands of each document and help text: source, commands."""
    for page in DOCUMENTS:
        text = '\n'.join(blocks(page, 'sh'))
        yield str(page.relative_to(REPOSITORY)), commands_in(text)
    for verb in VERBS:
        yield f'{verb} --help', commands_in(help_of(verb).partition('for example:')[2])


def provide_files(folder: Path) -> None:
    """Write the files named in documents and help texts as the user's own."""
    for name in ('config', 'docs', 'urdf'):
        (folder / name).symlink_to(REPOSITORY / name)
    four_bar = (REPOSITORY / 'urdf' / 'four_bar.urdf').read_text()
    open_chain = re.sub(r'<sim_bridge>.*?</sim_bridge>', '', four_bar, flags=re.DOTALL)
    (folder / 'robot.urdf').write_text(open_chain)
    (loops,) = blocks(REPOSITORY / 'docs' / 'closed_loops.md', 'yaml')
    (folder / 'loops.yaml').write_text(loops)
    (study,) = blocks(REPOSITORY / 'docs' / 'howto' / 'sweep.md', 'yaml')
    (folder / 'robust.yaml').write_text(study)
    shutil.copy(REPOSITORY / 'docs' / 'pushes.yaml', folder)
    shutil.copy(REPOSITORY / 'urdf' / 'pendulum.urdf', folder / 'your.urdf')
    (folder / 'your.xml').write_text(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball"><freejoint/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    trimesh.creation.icosphere(2, 0.3).export(folder / 'chair.stl')
