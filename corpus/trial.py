"""
Trial with one robot file, in its own process.

    python -m corpus.trial FILE RESULT PACKAGE_PATH …

RESULT is replaced after each stage, so a crash keeps earlier results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import os
from pathlib import Path
import re
import sys
import time
from typing import TYPE_CHECKING
import xml.etree.ElementTree as ElementTree

from corpus.driving import drive_straight, let_stand
from corpus.rows import DriveResult, Parts, Row
from sim_bridge.description import DescriptionError
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.sweep.gathering import MemorySink

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.ros.session.robot_interface import RobotInterface

# words in names for plugins and controllers driving a robot
_DRIVE = re.compile('drive|planar_move|ackerman|mecanum|tricycle|steering', re.IGNORECASE)


def try_robot(path: str, package_paths: Sequence[str], save: Callable[[Row], None]) -> None:
    """
    Load a robot on a ground, let it stand, drive each drive straight.

    package_paths: folders with packages. save: receives the row after each stage.
    """
    row, begun = Row(path), time.perf_counter()

    def save_stage() -> None:
        row.seconds = time.perf_counter() - begun
        save(row)

    try:
        simulator = _simulator(path, package_paths)
        interface = simulator.interfaces[0]
        if not interface.robot.links:
            row.reason = 'no link after expansion'
            save_stage()
            return
        row.loads = True
        row.base = 'fixed' if interface.robot.fixed_base else 'free'
        row.sensors = _sensors(interface.robot.description)
        row.controllers = _controllers(interface)
        save_stage()
        row.stands = let_stand(simulator)
        save_stage()
        for drive in interface.drives:
            row.drives.append(drive_straight(simulator, drive))
            save_stage()
        row.drives += _drives_left_out(interface.robot.description)
    except DescriptionError as err:
        first = err.report.errors[0]
        row.reason = f'{first.subject}: {first.message} [{first.code}]'
    except SimBridgeError as err:
        row.reason = str(err)
    save_stage()


def _simulator(path: str, package_paths: Sequence[str]) -> Simulator:
    """Return the node's simulator for a robot without any other setting."""
    given = {'robot': path, 'package_paths': tuple(package_paths)}
    parameters = checked(SimulatorParameters, given)
    return Simulator(MemorySink((), 'the corpus'), load_world(parameters), parameters)


def _sensors(description: RobotDescription) -> Parts:
    """Return the sensors in the expanded XML, by their tags."""
    xml = ElementTree.fromstring(description.xml)
    declared = [each.get('name') or each.get('type', '') for each in xml.iter('sensor')]
    made = {each.name for each in description.sensors}
    return _parts(made.union(declared), made, description)


def _drives_left_out(description: RobotDescription) -> list[DriveResult]:
    """Return the drives declared and not simulated."""
    reported = {
        each.name
        for each in description.report.not_simulated
        if each.omits == 'drive' or (not each.omits and _DRIVE.search(each.value))
    }
    reported |= {
        each.name
        for manager in description.controller_managers
        for each in manager.controllers
        if _DRIVE.search(each.type)
    }
    simulated = {each.name for each in description.drives}
    return [DriveResult(name, reason='not simulated') for name in sorted(reported - simulated)]


def _controllers(interface: RobotInterface) -> Parts:
    """Return the controllers in a robot's parameter files."""
    description = interface.robot.description
    left_out = {
        each.name for each in description.report.not_simulated if each.omits == 'controller'
    }
    declared = {
        each.name for manager in description.controller_managers for each in manager.controllers
    }
    return _parts(declared | left_out, interface.states.controllers, description)


def _parts(declared: Iterable[str], made: Iterable[str], description: RobotDescription) -> Parts:
    made = set(made)
    reported = {each.name for each in description.report.not_simulated}
    missing = sorted(set(declared) - made)
    silent = [name for name in missing if name not in reported]
    return Parts(len(made), len(missing) - len(silent), silent)


def main(path: str, result: str, *package_paths: str) -> None:
    """Try a robot file, and keep the row in a file."""

    def save(row: Row) -> None:
        new = Path(f'{result}.new')
        new.write_text(row.to_json(), encoding='utf-8')
        os.replace(new, result)

    try_robot(path, package_paths, save)


if __name__ == '__main__':
    main(*sys.argv[1:])
