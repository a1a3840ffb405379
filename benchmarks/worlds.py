"""Loading time for a warehouse in SDF: 300 included shelves and 200 crates."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
import time

from benchmarks.report import Report, Target
import sim_bridge as sb

SHELVES, CRATES, BOARDS = 300, 200, 5
LIMIT_S = 5.0
_BOX = '<geometry><box><size>{} {} {}</size></box></geometry>'
_NOTES = """Processor time of the process, fastest of {rounds} rounds; kernels are in the cache.
Shelves are included, with {boards} boards each; crates are written in the world."""


def warehouse(folder: Path) -> Path:
    """Write the world and its model into a folder; return the world's path."""
    boards = ''.join(
        f'<{tag} name="{tag}{k}"><pose>0 0 {0.5 * k} 0 0 0</pose>{_BOX.format(2, 1, 0.05)}</{tag}>'
        for k in range(BOARDS)
        for tag in ('collision', 'visual')
    )
    (folder / 'shelf').mkdir()
    (folder / 'shelf' / 'model.config').write_text('<model><sdf version="1.9">s.sdf</sdf></model>')
    (folder / 'shelf' / 's.sdf').write_text(
        '<sdf version="1.9"><model name="shelf"><static>true</static>'
        f'<link name="boards">{boards}</link></model></sdf>'
    )
    parts = [
        f'<include><uri>shelf</uri><name>shelf_{k}</name><pose>{_place(k, 0.0)}</pose></include>'
        for k in range(SHELVES)
    ]
    box = _BOX.format(0.5, 0.5, 0.5)
    parts += [
        f'<model name="crate_{k}"><pose>{_place(k, 3.0)}</pose><link name="box"><inertial>'
        '<mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>'
        f'<collision name="c">{box}</collision><visual name="v">{box}</visual></link></model>'
        for k in range(CRATES)
    ]
    path = folder / 'warehouse.sdf'
    path.write_text(f'<sdf version="1.9"><world name="w">{"".join(parts)}</world></sdf>')
    return path


def _place(k: int, height: float) -> str:
    return f'{3 * (k % 20)} {3 * (k // 20)} {height} 0 0 0'


def run(rounds: int = 3) -> Report:
    """Measure reading and adding, and compare with the target."""
    with TemporaryDirectory() as folder:
        path = warehouse(Path(folder))
        times = [_load(path) for _ in range(rounds)]
    report = Report('worlds')
    label = f'{SHELVES + CRATES} models'
    report.add_table('seconds', ['world', 'load'], [[label, f'{min(times):.2f}']])
    report.sections.append(_NOTES.format(rounds=rounds, boards=BOARDS))
    report.add_targets([Target(f'a warehouse of {label} loads', min(times), LIMIT_S)])
    return report


def _load(path: Path) -> float:
    world, start = sb.World(), time.process_time()
    world.load_scene(path)
    return time.process_time() - start
