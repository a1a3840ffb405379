"""Identification result: values with errors, and fit quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import yaml

from sim_bridge.description.urdf.amend import amended, InertialValues, JointValues
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.identification.confidence import Combination, Estimate, LEVEL
from sim_bridge.identification.parameters import JOINT_KINDS, Parameters
from sim_bridge.identification.plant import Plant

# largest residual-to-noise ratio of an explained motion
_EXPLAINED = 1.5
# if held-out residuals exceed fitted ones by this factor, parameters fit noise
_OVERFITTED = 1.5


class Misfit(NamedTuple):
    """
    Distance between simulated and recorded motion.

    ratio: root mean square divided by the sample noise; 1 is optimal. positions: (n,) root mean
    square by joint [rad or m]. velocities: the same [per s], nan if not measured.
    """

    ratio: float
    positions: FloatArray
    velocities: FloatArray


@dataclass(frozen=True, eq=False)
class Identification:
    """
    Identified robot parameters.

    estimates: by name, such as 'joint_1.friction'. combinations: identifiable sums whose terms
    are not identifiable alone. before: misfit with the file's parameters. after: misfit with the
    fitted parameters. held_out: misfit on windows with parameters fitted without them
    (cross-validation by `folds`); None without cross-validation. noise: (2n,) position and
    velocity noise, estimated from the samples. windows: window count. window_length: [s].
    left_out: time outside all windows due to gaps, stops, and ceased commands [s]. notes:
    anomalies and assumptions.
    """

    robot: str
    joint_names: tuple[str, ...]
    recordings: tuple[str, ...]
    estimates: dict[str, Estimate]
    combinations: tuple[Combination, ...]
    before: Misfit
    after: Misfit
    held_out: Misfit | None
    folds: int
    noise: FloatArray
    windows: int
    window_length: float
    left_out: float
    is_converged: bool
    notes: tuple[str, ...]
    z: FloatArray
    plant: Plant
    parameters: Parameters

    def __repr__(self) -> str:
        """Show the identified parameter count, and the misfit."""
        told = sum(each.is_identifiable for each in self.estimates.values())
        return (
            f'<Identification of {self.robot!r}: {told} of {len(self.estimates)} parameters '
            f'identifiable, misfit {self.before.ratio:.3g} -> {self.after.ratio:.3g}>'
        )

    @property
    def is_explained(self) -> bool:
        """Whether the residuals (of held-out windows, if available) are sensor noise."""
        return bool((self.held_out or self.after).ratio <= _EXPLAINED)

    @property
    def verdict(self) -> str:
        """Conclusion from cross-validation, in words."""
        best, what = self.held_out or self.after, 'windows held out' if self.held_out else 'it'
        if self.held_out and self.held_out.ratio > _OVERFITTED * self.after.ratio:
            return (
                f'the parameters fit noise: windows held out differ by {best.ratio:.3g} times '
                f'the noise of the sensors, and those fitted by {self.after.ratio:.3g} times; '
                'fit fewer parameters, or record longer'
            )
        if self.is_explained:
            return (
                f'the model explains the motion: {what} differ by {best.ratio:.3g} times the '
                'noise of the sensors'
                if self.held_out
                else f'the model explains the motion: it differs by {best.ratio:.3g} times the '
                'noise of the sensors'
            )
        worst = self.joint_names[int(np.argmax(best.positions / self._sizes))]
        return (
            f'the model does not explain the motion: {what} differ{"" if self.held_out else "s"} '
            f'by {best.ratio:.3g} times the noise of the sensors, most at {worst}. Something acts '
            'that is not fitted: try more kinds of parameters, and look for touches, cables, '
            'elasticity and delays'
        )

    @property
    def _sizes(self) -> FloatArray:
        return self.noise[: len(self.joint_names)]

    def urdf(self) -> str:
        """
        Return the robot's URDF with the fitted parameters; the rest is unchanged byte for byte.

        For a xacro file, return its expansion. Raises InvalidValueError for a robot without URDF.
        """
        text = self.plant.description.xml
        if not text:
            raise InvalidValueError(
                'robot', self.robot, 'a URDF or xacro file; for other robots, write YAML'
            )
        return amended(text, self.joint_values(), self.link_values())

    def joint_values(self) -> dict[str, JointValues]:
        """Return friction, damping and armature for joints with fitted parameters."""
        found = {}
        names = dict.fromkeys(
            each.target for each in self.parameters.columns if each.kind in JOINT_KINDS
        )
        for name in names:
            at = self.plant.joint_names.index(name)
            fitted = {
                column.kind
                for column in self.parameters.columns
                if column.target == name and column.kind in JOINT_KINDS
            }
            found[name] = JointValues(
                **{kind: float(self.parameters.joint_values(kind, self.z)[at]) for kind in fitted}
            )
        return found

    def link_values(self) -> dict[str, InertialValues]:
        """Return mass, centre of mass and inertia for links with fitted parameters."""
        bodies = {name: self.parameters.body(name, self.z) for name in self.parameters.links}
        found = {}
        for name, body in bodies.items():
            inertial = self.plant.description.links[name].inertial
            assert inertial is not None  # only links with mass are fitted
            found[name] = InertialValues(
                body.mass, body.center, body.inertia, np.asarray(inertial.pose.rotation)
            )
        return found

    def as_plain(self) -> dict[str, Any]:
        """Return the result as plain data for JSON, described in docs/identification.md."""
        return {
            'robot': self.robot,
            'recordings': list(self.recordings),
            'level': LEVEL,
            'estimates': [each._asdict() for each in self.estimates.values()],
            'combinations': [
                {
                    'terms': [list(term) for term in each.terms],
                    'unit': each.unit,
                    'value': each.value,
                    'error': each.error,
                }
                for each in self.combinations
            ],
            'misfit': {
                'before': _plain(self.before, self.joint_names),
                'after': _plain(self.after, self.joint_names),
                'held_out': self.held_out and _plain(self.held_out, self.joint_names),
            },
            'folds': self.folds,
            'windows': {
                'count': self.windows,
                'length': self.window_length,
                'left_out': self.left_out,
            },
            'explained': self.is_explained,
            'converged': self.is_converged,
            'verdict': self.verdict,
            'notes': list(self.notes),
        }

    def yaml(self) -> str:
        """Return the parameters as YAML: joints and links by name, SI units, with errors."""
        joints: dict[str, Any] = {}
        for name, values in self.joint_values().items():
            joints[name] = {
                kind: _entry(self.estimates[f'{name}.{kind}'])
                for kind in JOINT_KINDS
                if getattr(values, kind) is not None
            }
        links = {}
        for name, body in self.link_values().items():
            own = {
                key.removeprefix(f'{name}.'): each
                for key, each in self.estimates.items()
                if key.startswith(f'{name}.')
                and key.removeprefix(f'{name}.').split('.')[0] in ('mass', 'centre', 'inertia')
            }
            links[name] = {
                'mass': float(body.mass),
                'centre': body.center.tolist(),
                'inertia': {
                    f'i{"xyz"[i]}{"xyz"[j]}': float(body.inertia[i, j])
                    for i in range(3)
                    for j in range(i, 3)
                },
                'fitted': {key: _entry(each) for key, each in own.items()},
            }
        content: dict[str, Any] = {'robot': self.robot}
        if joints:
            content['joints'] = joints
        if links:
            content['links'] = links
        if 'delay' in self.estimates:
            content['delay'] = _entry(self.estimates['delay'])
        if self.combinations:
            content['combinations'] = [str(each) for each in self.combinations]
        content['explained'] = bool(self.is_explained)
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=99)


def misfit(
    differences: Sequence[FloatArray], counts: Sequence[FloatArray], noise: FloatArray, states: int
) -> Misfit:
    """
    Return the misfit between windows and measurements.

    differences: (w, B, 2n) each. counts: (w, B) samples. noise: (2n,). states: fitted state
    variables per window, which absorb some noise.
    """
    whole, weights = np.concatenate(differences), np.concatenate(counts)[..., np.newaxis]
    is_measured = np.isfinite(whole)
    squares = np.where(is_measured, whole, 0.0) ** 2 * weights
    count = is_measured.sum()
    free = max(count - states * len(whole), 1)
    samples = np.where(is_measured, weights, 0.0).sum(axis=(0, 1))
    with np.errstate(invalid='ignore', divide='ignore'):
        by_column = np.sqrt(squares.sum(axis=(0, 1)) / samples)
    n = len(noise) // 2
    return Misfit(float(np.sqrt((squares / noise**2).sum() / free)), by_column[:n], by_column[n:])


def _entry(estimate: Estimate) -> dict[str, Any]:
    if not estimate.is_identifiable:
        return {'value': float(estimate.value), 'told': False}
    return {'value': float(estimate.value), 'error': float(estimate.error)}


def _plain(found: Misfit, names: Sequence[str]) -> dict[str, Any]:
    def by_name(values: FloatArray) -> dict[str, float | None]:
        return {
            name: float(each) if np.isfinite(each) else None
            for name, each in zip(names, values, strict=True)
        }

    return {
        'ratio': found.ratio,
        'positions': by_name(found.positions),
        'velocities': by_name(found.velocities),
    }
