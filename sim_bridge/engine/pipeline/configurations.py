"""Integration and differences of configurations; rows, inputs and results as in `rigid_body`."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.dynamics.configurations import (
    copy_normalized,
    differentiate_integration,
    subtract,
)
from sim_bridge.engine.dynamics.integrator import drift
from sim_bridge.engine.pipeline.rigid_body import are_configurations, are_finite, row_of


@entry
def integrate(model: Model, ws: Workspace, q: FloatMatrix, v: FloatMatrix, q_out: FloatMatrix):
    """Compute the configuration after one second at the velocity v."""
    if not (are_configurations(model, q) and are_finite(v)):
        return False
    for row in range(q_out.shape[0]):
        copy_normalized(model, row_of(q, row), ws.q)
        drift(model, model.kind, ws.q, row_of(v, row), 1.0, q_out[row])
    return True


@entry
def difference(model: Model, start: FloatMatrix, end: FloatMatrix, v_out: FloatMatrix):
    """Compute the velocity that leads from one configuration to another in one second."""
    if not (are_configurations(model, start) and are_configurations(model, end)):
        return False
    for row in range(v_out.shape[0]):
        subtract(model, row_of(start, row), row_of(end, row), v_out[row])
    return True


@entry
def integration_derivatives(model: Model, v: FloatMatrix, derivative_out: FloatCube):
    """
    Compute the derivatives of `integrate`.

    derivative_out: derivatives by configuration, then by velocity, (n, 2 nv, nv).
    """
    if not are_finite(v):
        return False
    nv = derivative_out.shape[2]
    for row in range(derivative_out.shape[0]):
        out = derivative_out[row]
        differentiate_integration(model, row_of(v, row), out[0:nv], out[nv : 2 * nv])
    return True
