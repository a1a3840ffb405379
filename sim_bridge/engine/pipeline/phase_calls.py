"""
Calls into the contact, constraint, actuator and momentum stages, named for their phases.

A stage is compiled only for worlds that need it. Its address is a field of the options; 0 means
absent, and callers check this first. Each call returns the integer from its phase.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage
from sim_bridge.engine.data.phases import (
    ActuatorPhase,
    ContactPhase,
    LoopPhase,
    MomentumPhase,
    UserContactPhase,
)


@kernel
def detect_contacts(options, table):
    """Find all geometries' contacts; return their number or a failure code."""
    return call_stage(options.detect, table, 0)


@kernel
def add_user_contacts(options, table):
    """Append this step's user contacts; return the total contact count."""
    return call_stage(options.user_contacts, table, UserContactPhase.ADD)


@kernel
def prepare_contacts(options, table):
    """Set the contact laws; negative if a Python function has raised."""
    return call_stage(options.contact, table, ContactPhase.PREPARE)


@kernel
def build_contacts(options, table):
    """Build the contact rows from the factorized trees."""
    return call_stage(options.contact, table, ContactPhase.BUILD)


@kernel
def solve_contact_rows(options, table):
    """Solve for the contact impulses on the current rows."""
    return call_stage(options.contact, table, ContactPhase.SOLVE)


@kernel
def open_joint_laws(options, table):
    """Add the joint laws to the contact problem as rows."""
    return call_stage(options.contact, table, ContactPhase.OPEN_LAWS)


@kernel
def close_joint_laws(options, table):
    """Read the joint modes from the contact solution, and remove the rows of joint laws."""
    return call_stage(options.contact, table, ContactPhase.CLOSE_LAWS)


@kernel
def project_contact_positions(options, table):
    """Compute drift velocities that keep bodies apart; return 0 if no correction is needed."""
    return call_stage(options.contact, table, ContactPhase.PROJECT_POSITIONS)


@kernel
def keep_contacts(options, table):
    """Store the contacts and their impulses in the state."""
    return call_stage(options.contact, table, ContactPhase.KEEP)


@kernel
def prepare_loops(options, table):
    """Set the constraint joints' rows and laws for a step."""
    return call_stage(options.loops, table, LoopPhase.PREPARE)


@kernel
def build_loops(options, table):
    """Build the orthonormal constraint rows from the factorized trees."""
    return call_stage(options.loops, table, LoopPhase.BUILD)


@kernel
def obey_loops(options, table):
    """Correct accelerations by constraint forces."""
    return call_stage(options.loops, table, LoopPhase.OBEY)


@kernel
def obey_loops_after_contacts(options, table):
    """Correct accelerations by the constraint forces due to contact impulses."""
    return call_stage(options.loops, table, LoopPhase.OBEY_MORE)


@kernel
def switch_loop_axes(options, table):
    """Lock or free axes of constraint joints by their laws; return the number changed."""
    return call_stage(options.loops, table, LoopPhase.SWITCH)


@kernel
def rebuild_loops(options, table):
    """Update axes whose laws were solved with contacts."""
    return call_stage(options.loops, table, LoopPhase.REBUILD)


@kernel
def shift_loops(options, table):
    """Apply the contacts' position correction to the constraint joints."""
    return call_stage(options.loops, table, LoopPhase.FOLLOW_SHIFT)


@kernel
def close_loops(options, table):
    """Correct positions until loops close; positive if a loop stays open."""
    return call_stage(options.loops, table, LoopPhase.CLOSE)


@kernel
def keep_loops(options, table):
    """Store the constraint joints' results in the state."""
    return call_stage(options.loops, table, LoopPhase.KEEP)


@kernel
def build_current_loops(options, table):
    """Build the constraint rows for an observation."""
    return call_stage(options.loops, table, LoopPhase.BUILD_PRESENT)


@kernel
def obey_current_loops(options, table):
    """Correct an observation's accelerations by constraint forces."""
    return call_stage(options.loops, table, LoopPhase.OBEY_PRESENT)


@kernel
def read_loop_reactions(options, table):
    """Compute the constraint joints' reactions for an observation."""
    return call_stage(options.loops, table, LoopPhase.REACT_PRESENT)


@kernel
def evaluate_actuators(options, table):
    """Compute the actuators' forces in a step, and apply their wrenches at places."""
    return call_stage(options.actuators, table, ActuatorPhase.EVALUATE)


@kernel
def set_actuator_efforts(options, table):
    """Add the actuators' efforts to the joint laws of a step."""
    return call_stage(options.actuators, table, ActuatorPhase.SET)


@kernel
def switch_actuators(options, table):
    """Clamp or free actuator forces; return the number changed."""
    return call_stage(options.actuators, table, ActuatorPhase.SWITCH)


@kernel
def keep_actuators(options, table):
    """Advance the activations by a step."""
    return call_stage(options.actuators, table, ActuatorPhase.KEEP)


@kernel
def evaluate_current_actuators(options, table):
    """Compute the actuators' forces for an observation, and apply their wrenches at places."""
    return call_stage(options.actuators, table, ActuatorPhase.EVALUATE_PRESENT)


@kernel
def set_current_actuator_efforts(options, table):
    """Add the actuators' efforts to the joint laws of an observation."""
    return call_stage(options.actuators, table, ActuatorPhase.SET_PRESENT)


@kernel
def start_momentum(options, table):
    """Store the free trees' momentum at the step's start."""
    return call_stage(options.momentum, table, MomentumPhase.START)


@kernel
def add_up_momentum(options, table):
    """Sum the impulses on free trees in this step."""
    return call_stage(options.momentum, table, MomentumPhase.ADD_UP)


@kernel
def restore_momentum(options, table):
    """Correct the free trees' velocities and positions to the momentum balance."""
    return call_stage(options.momentum, table, MomentumPhase.END)
