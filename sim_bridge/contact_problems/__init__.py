"""
Solvers for contact problems, grasps, and overlap removal: `sb.contact_problems`.

`World.contact_problem` builds the problems. Imports `world`, `simulation`, `engine` and
`foundation`; nothing of ROS.
"""

from sim_bridge.contact_problems.engine_solver import next_step, NextStep, solve
from sim_bridge.contact_problems.frictionless import solve_dual, solve_primal
from sim_bridge.contact_problems.grasp import Effort, least_effort
from sim_bridge.contact_problems.reference import solve_reference
from sim_bridge.contact_problems.separation import separate
from sim_bridge.contact_problems.solution import ContactSolution, Residuals

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
