"""
Contact laws for pairs of materials: ODE's contact parameters, friction cones, restitution.

Friction models. CONE: the exact Coulomb cone (an ellipse if mu differs from mu2). PYRAMID: each
direction bounded by its coefficient times the normal force (ODE's dContactApprox1). CONSTANT: each
direction bounded by mu and mu2 as forces [N] (ODE without dContactApprox1). FIRST_CONSTANT and
SECOND_CONSTANT: one direction as in CONSTANT, the other as in PYRAMID (dContactApprox1_2 or
dContactApprox1_1 alone).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

CONE, PYRAMID, CONSTANT, FIRST_CONSTANT, SECOND_CONSTANT = range(5)

# columns in ContactMaterials.law
(
    MODEL,  # CONE, PYRAMID …
    MU,
    MU2,  # friction along the first and second direction; [1], or [N] if constant
    ROLLING,  # [m] rolling friction torque per normal force
    SPINNING,  # [m] torsional friction torque per normal force
    RESTITUTION,  # [1]
    BOUNCE_VELOCITY,  # [m/s] slower approaches do not bounce (ODE bounce_vel)
    ERP,  # share of the penetration removed in one step (ODE soft_erp)
    CFM,  # [m/(N s)] velocity per normal force (ODE soft_cfm); 0: rigid
    SLIP,
    SLIP2,  # [m/(N s)] creep velocity per friction force (ODE slip1, slip2)
    MOTION,
    MOTION2,
    MOTION_N,  # [m/s] target surface velocities (ODE motion1, motion2, motionN)
    LAYER,  # [m] penetration left uncorrected (ODE's contact surface layer)
    MAX_VELOCITY,  # [m/s] greatest velocity correcting penetration
    ADHESION,  # [N] pulling force up to which two bodies stay together
    STIFFNESS,  # [N/m] per contact point; 0: from ERP and CFM (Young's modulus, AGX)
    DAMPING,  # [N s/m] damping beside STIFFNESS
) = range(19)
MATERIAL_LAW_SIZE = 19

# solve types, for a world (Options.solver) and for two materials
DIRECT, ITERATIVE, SPLIT, DIRECT_AND_ITERATIVE = range(4)

# bits in ContactMaterials.refine
MOVES = 1  # moving surfaces, with velocities in the author's order of the materials
ADHERES = 2  # ADHESION belongs to two bodies, shared by their contact points
DIRECTED = 4  # the first friction direction is an axis fixed in a body
WEIGHED = 8  # MU and MU2 are per mass [N/kg], shared by their contact points
DEEP = 16  # MU and MU2 grow with depth
REDUCED = 32  # only a few of many points between two bodies take part
SPREADS = 64  # STIFFNESS and DAMPING are per area of the points, times their rest length
CUSTOM = 128  # a Python function decides friction

# columns in ContactMaterials.refined
(
    SIDE,  # 1: the pair's first material is the author's first; -1: the second; 0: they are one
    OVERLAP,  # [m] rest overlap between adhesive surfaces
    AXIS,
    _,
    _,  # first friction direction, in the axes of ContactMaterials.direction_body
    DEPTH_FACTOR,  # [1/m] relative growth with depth, for MU and MU2
    BINS,  # bins along each dimension of the point reduction
    LEAST_LENGTH,
    MOST_LENGTH,  # [m] limits of the rest length with SPREADS
) = range(9)
REFINED_SIZE = 9


class ContactMaterials(NamedTuple):
    """Contact laws for all pairs of materials."""

    pair: Annotated[IntMatrix, Dims('materials', 'materials', points_at='laws')]
    """Row in `law` for two materials; symmetric, unless the order of the materials matters."""
    law: Annotated[FloatMatrix, Dims('laws', MATERIAL_LAW_SIZE, unit='SI')]
    """Law parameters: MODEL … DAMPING."""
    refine: Annotated[IntVector, Dims('laws')]
    """Bits for law features beyond materials and normals: MOVES …; 0 for most laws."""
    refined: Annotated[FloatMatrix, Dims('laws', REFINED_SIZE, unit='1; m; 1; 1/m; 1; m')]
    """Parameters of these features: SIDE …"""
    direction_body: Annotated[IntVector, Dims('laws', points_at='nb')]
    """Body in whose axes AXIS is given, -1 for the world."""
    solver: Annotated[IntVector, Dims('laws')]
    """Solve type: DIRECT … DIRECT_AND_ITERATIVE, or -1 for the world's solve type."""
