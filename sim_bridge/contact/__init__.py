"""
Solvers of contact problems, grasps, and moving apart what overlaps: `sb.contact`.

`World.contact_problem` builds the problems. Imports `world`, `simulation`, `engine` and
`foundation`; nothing of ROS.
"""

from sim_bridge.contact.engine_solver import next_step, NextStep, solve
from sim_bridge.contact.frictionless import solve_dual, solve_primal
from sim_bridge.contact.grasp import Effort, least_effort
from sim_bridge.contact.reference import solve_reference
from sim_bridge.contact.separation import separate
from sim_bridge.contact.solution import ContactSolution, Residuals

__all__ = [
    'ContactSolution',
    'Effort',
    'NextStep',
    'Residuals',
    'least_effort',
    'next_step',
    'separate',
    'solve',
    'solve_dual',
    'solve_primal',
    'solve_reference',
]
