"""
Calls into the contact, constraint and momentum stages, named for their phases.

A stage is compiled only for worlds that need it. Its address is a field of the options; 0 means
absent, and callers check this first. Each call returns the integer of its phase.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage
from sim_bridge.engine.data.phases import ContactPhase, LoopPhase, MomentumPhase, UserContactPhase


@kernel
def detect_contacts(options, table):
    """Find the contacts of all geometries; return their number or a failure code."""
    return call_stage(options.detect, table, 0)


@kernel
def add_user_contacts(options, table):
    """Append the user's contacts of this step; return the number of all contacts."""
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
    """Solve for the contact impulses of the present rows."""
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
    """Compute velocities for the rest of the drift that keep bodies apart; 0: no correction."""
    return call_stage(options.contact, table, ContactPhase.PROJECT_POSITIONS)


@kernel
def keep_contacts(options, table):
    """Store the contacts and their impulses in the state."""
    return call_stage(options.contact, table, ContactPhase.KEEP)


@kernel
def prepare_loops(options, table):
    """Set the rows and laws of constraint joints for a step."""
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
    """Correct accelerations by the constraint forces that contact impulses add."""
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
    """Store the results of constraint joints in the state."""
    return call_stage(options.loops, table, LoopPhase.KEEP)


@kernel
def build_current_loops(options, table):
    """Build the constraint rows of an observation."""
    return call_stage(options.loops, table, LoopPhase.BUILD_PRESENT)


@kernel
def obey_current_loops(options, table):
    """Correct the accelerations of an observation by constraint forces."""
    return call_stage(options.loops, table, LoopPhase.OBEY_PRESENT)


@kernel
def read_loop_reactions(options, table):
    """Compute the reactions of constraint joints for an observation."""
    return call_stage(options.loops, table, LoopPhase.REACT_PRESENT)


@kernel
def start_momentum(options, table):
    """Store the momentum of free trees at the start of the step."""
    return call_stage(options.momentum, table, MomentumPhase.START)


@kernel
def add_up_momentum(options, table):
    """Sum the impulses on free trees in this step."""
    return call_stage(options.momentum, table, MomentumPhase.ADD_UP)


@kernel
def restore_momentum(options, table):
    """Correct the velocities and positions of free trees to the momentum balance."""
    return call_stage(options.momentum, table, MomentumPhase.END)
