"""
Surface laws between pairs of materials: ODE's contact parameters, cones, restitution.

Friction models: CONE, the exact Coulomb cone (an ellipse where mu differs from mu2); PYRAMID,
each direction bounded by its coefficient times the normal force (ODE's dContactApprox1); CONSTANT,
each direction bounded by mu and mu2 as forces [N] (ODE without dContactApprox1).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

CONE, PYRAMID, CONSTANT = range(3)

# columns of ContactMaterials.law
(
    MODEL,  # CONE, PYRAMID or CONSTANT
    MU,
    MU2,  # friction along the first and second direction; [1], or [N] for CONSTANT
    ROLLING,  # [m] rolling friction torque per normal force
    SPINNING,  # [m] torsional friction torque per normal force
    RESTITUTION,  # [1]
    BOUNCE_VELOCITY,  # [m/s] slower approaches do not bounce (ODE bounce_vel)
    ERP,  # share of the penetration that one step takes back (ODE soft_erp)
    CFM,  # [m/(N s)], velocity per normal force (ODE soft_cfm); 0: rigid
    SLIP,
    SLIP2,  # [m/(N s)], creep velocity per friction force (ODE slip1, slip2)
    MOTION,
    MOTION2,
    MOTION_N,  # [m/s] wanted surface velocities (ODE motion1, motion2, motionN)
    LAYER,  # [m] penetration that is left alone (ODE's contact surface layer)
    MAX_VELOCITY,  # [m/s] greatest velocity that takes penetration back
    ADHESION,  # [N] force up to which pulling does not part two bodies
    STIFFNESS,  # [N/m] per contact point, 0: from ERP and CFM (Young's modulus, AGX)
    DAMPING,  # [N s/m] goes with STIFFNESS
) = range(19)
MATERIAL_LAW_SIZE = 19

# solve types: of a world, Options.solver, and of a pair of materials
DIRECT, ITERATIVE, SPLIT, DIRECT_AND_ITERATIVE = range(4)

# bits of ContactMaterials.refine
MOVES = 1  # surfaces that move relative to each other, in the author's order
ADHERES = 2  # ADHESION is that of two bodies, which their contact points share
DIRECTED = 4  # the first direction of friction is an axis of a body
WEIGHED = 8  # MU and MU2 are per mass of two bodies [N/kg], which their contact points share
DEEP = 16  # MU and MU2 grow with the depth
REDUCED = 32  # of many points between two bodies few take part
SPREADS = 64  # STIFFNESS and DAMPING are per area of the points, and times their rest length
CUSTOM = 128  # a Python function decides friction

# columns of ContactMaterials.refined
(
    SIDE,  # 1: the pair's first material is the author's first; -1: the second; 0: they are one
    OVERLAP,  # [m] that adhesive surfaces rest with
    AXIS,
    _,
    _,  # first direction of friction, in the axes of ContactMaterials.direction_body
    DEPTH_FACTOR,  # [1/m] of MU and MU2
    BINS,  # along each dimension of the space in which points are reduced
    LEAST_LENGTH,
    MOST_LENGTH,  # [m] limits of the rest length of what SPREADS
) = range(9)
REFINED_SIZE = 9


class ContactMaterials(NamedTuple):
    """The contact laws of all pairs of materials."""

    pair: Annotated[IntMatrix, Dims('materials', 'materials', points_at='laws')]
    """Row of `law` for two materials; symmetric, unless the order of the two matters."""
    law: Annotated[FloatMatrix, Dims('laws', MATERIAL_LAW_SIZE, unit='SI')]
    """The laws: MODEL … DAMPING."""
    refine: Annotated[IntVector, Dims('laws')]
    """What of a law takes more than materials and normals, as bits: MOVES …; 0 for most laws."""
    refined: Annotated[FloatMatrix, Dims('laws', REFINED_SIZE, unit='1; m; 1; 1/m; 1; m')]
    """What that takes: SIDE …"""
    direction_body: Annotated[IntVector, Dims('laws', points_at='nb')]
    """Body in whose axes AXIS is, -1 for the world."""
    solver: Annotated[IntVector, Dims('laws')]
    """Solve type: DIRECT … DIRECT_AND_ITERATIVE, or -1, the world's."""
