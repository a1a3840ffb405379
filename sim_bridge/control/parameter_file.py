"""
Parameter file for all nodes in this package, generated from their parameter tables.

    python -m sim_bridge.control.parameter_file > config/sim_bridge.yaml
"""

from __future__ import annotations

from sim_bridge.control.computed_torque_controller import ComputedTorqueParameters
from sim_bridge.control.pd_controller import PdParameters
from sim_bridge.control.square_controller import SquareParameters
from sim_bridge.control.velocity_controller import VelocityParameters
from sim_bridge.ros.params.parameter_table import to_yaml
from sim_bridge.ros.params.parameters import SimulatorParameters

TABLES = {
    'sim_bridge': SimulatorParameters,
    'pd_controller': PdParameters,
    'computed_torque_controller': ComputedTorqueParameters,
    'velocity_controller': VelocityParameters,
    'square_controller': SquareParameters,
}

_HEAD = """\
# Default values of all parameters of all sim_bridge nodes, for any namespace. SI units throughout.
# Copy it, keep the lines you change, and pass it with --params-file, or params:=<file> to the
# launch file. Generated from the tables in sim_bridge/control and
# sim_bridge/ros/params/parameters.py by
#
#     python -m sim_bridge.control.parameter_file > config/sim_bridge.yaml
"""


def parameter_file() -> str:
    """Return the text of config/sim_bridge.yaml."""
    return f'{_HEAD}\n{to_yaml(TABLES)}'


if __name__ == '__main__':
    print(parameter_file(), end='')
