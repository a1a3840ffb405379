"""
Designs: inputs for each run in a study.

A design depends on the study alone, so that run k has the same inputs on any machine, at any time
and in any order. Random numbers for run k come from `SeedSequence(seed, spawn_key=(k, …))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
import inspect
import math
from typing import Any

import numpy as np
from scipy.stats import qmc

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sweep.distributions import Distribution, Values

GRID, LIST, RANDOM, SOBOL, SALTELLI = 'grid', 'list', 'random', 'sobol', 'saltelli'
DESIGNS = (GRID, LIST, RANDOM, SOBOL, SALTELLI)
SAMPLED = (RANDOM, SOBOL, SALTELLI)
"""Designs with a number of samples."""

_INPUTS, _NOISE, _FAULTS = range(3)


class Design:
    """Inputs of all runs; `count` is the number of runs."""

    def __init__(
        self,
        kind: str,
        inputs: Mapping[str, Distribution],
        seed: int,
        samples: int = 0,
        repeats: int = 1,
        is_noise_same: bool = False,
    ) -> None:
        """
        Set up the design.

        kind: one of DESIGNS. samples: for SAMPLED; SALTELLI makes d + 2 runs for each sample, with
        d inputs, and needs a power of 2. repeats: runs for each point in GRID and LIST.
        is_noise_same: whether all runs have the same sensor noise.
        """
        self.kind, self.inputs, self.seed = kind, dict(inputs), seed
        self.samples, self.repeats, self._is_noise_same = samples, repeats, is_noise_same
        self._listed = (
            [name for name, each in self.inputs.items() if isinstance(each, Values)]
            if kind in (GRID, LIST)
            else []
        )

    @cached_property
    def count(self) -> int:
        """Total run count."""
        if self.kind == SALTELLI:
            return self.samples * (len(self.inputs) + 2)
        if self.kind in SAMPLED:
            return self.samples
        sizes = [len(self._values(name)) for name in self._listed]
        points = math.prod(sizes) if self.kind == GRID else max(sizes, default=1)
        return points * self.repeats

    def of(self, run: int) -> dict[str, Any]:
        """Return a run's inputs, 0 to count - 1, by name."""
        if self.kind in (SOBOL, SALTELLI):
            shares = self._points[run] if self.kind == SOBOL else self._saltelli(run)
        else:
            shares = self._draw(run, _INPUTS).random(len(self.inputs))
        found = {
            name: each.quantile(float(u))
            for (name, each), u in zip(self.inputs.items(), shares, strict=True)
        }
        point = run // self.repeats
        for name in reversed(self._listed):
            values = self._values(name)
            found[name] = values[point % len(values)]
            if self.kind == GRID:
                point //= len(values)
        return found

    def noise_seed(self, run: int) -> int:
        """Return a run's sensor noise seed."""
        return self._seed_of(0 if self._is_noise_same else run, _NOISE)

    def faults(self, run: int) -> np.random.Generator:
        """Return the random generator for a run's faults."""
        return self._draw(run, _FAULTS)

    def _values(self, name: str) -> Sequence[Any]:
        listed = self.inputs[name]
        assert isinstance(listed, Values)
        return [listed.at(k) for k in range(len(listed.values))]

    def _draw(self, run: int, what: int) -> np.random.Generator:
        key = (run,) if what == _INPUTS else (run, what)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _seed_of(self, run: int, what: int) -> int:
        state = np.random.SeedSequence(self.seed, spawn_key=(run, what)).generate_state(1)
        return int(state[0])

    def _saltelli(self, run: int) -> FloatArray:
        """Return a run's sample point: from A, from B, or from A with one column from B."""
        d = len(self.inputs)
        base, which = divmod(run, d + 2)
        a, b = self._points[base, :d], self._points[base, d:]
        if which < 2:
            return b if which else a
        mixed: FloatArray = a.copy()
        mixed[which - 2] = b[which - 2]
        return mixed

    @cached_property
    def _points(self) -> FloatArray:
        """Scrambled Sobol sequence, (samples, d), or (samples, 2 d) for SALTELLI."""
        d = len(self.inputs) * (2 if self.kind == SALTELLI else 1)
        # scipy 1.15 renamed the argument
        name = 'rng' if 'rng' in inspect.signature(qmc.Sobol).parameters else 'seed'
        source = np.random.default_rng(np.random.SeedSequence(self.seed))
        sequence = qmc.Sobol(d, scramble=True, bits=53, **{name: source})
        # the sequence is balanced over powers of 2
        points: FloatArray = sequence.random_base2(max(self.samples - 1, 0).bit_length())
        return points[: self.samples]


def most_inputs(kind: str) -> float:
    """Return how many inputs a design may have."""
    if kind == SOBOL:
        return float(qmc.Sobol.MAXDIM)
    return float(qmc.Sobol.MAXDIM // 2) if kind == SALTELLI else math.inf
