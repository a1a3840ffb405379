"""
SDF's sensor noise model, for one quantity with three channels, or any number with one model.

Gazebo's GaussianNoiseModel, key by key:

    at the start    b = N(bias_mean, bias_stddev), its sign flipped in half of the cases
    each sample     b = exp(-dt/tau) b + N(0, s_d),   if s > 0 and tau > 0, with
                    s_d^2 = -s^2 tau/2 expm1(-2 dt/tau)
                    out = in + b + N(mean, stddev)
    quantised       out = round(out / precision) precision

where s is the stddev of the dynamic bias and tau its correlation time. `density`, ours, is a white
noise density in units per sqrt(Hz): the stddev of a sample is then density * sqrt(sample rate), at
any rate.

Unlike in Gazebo, each quantity on each sensor has its own random generator. A sensor's noise
depends only on the world's seed and its own name: not on other sensors, and not on their sample
times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
import hashlib
import math
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.description.model import NoiseDescription
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sensors import noise_kernels

AXES = ('x', 'y', 'z')

_NO_NOISE = NoiseDescription()
# numbers drawn at once, and samples at most; the values do not depend on these, because the
# generator gives the same stream in any portions
_NUMBERS, _BLOCK = 4096, 256


class NoiseState(NamedTuple):
    """
    Everything that the next samples depend on.

    generator: bit generator state before the current block. used: samples consumed from the block,
    -1 before the first block. bias: (n,) present bias.
    """

    generator: dict[str, object]
    used: int
    bias: tuple[float, ...]


def noise_generator(seed: int, *names: str) -> np.random.Generator:
    """
    Return the generator for the given names (robot, sensor, quantity) in a world with this seed.

    The same on every machine and in every process: names enter by their SHA-256, not by Python's
    salted hash. Raises InvalidValueError if the seed is negative or not an integer.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidValueError('seed', seed, 'an integer of at least 0')
    digest = hashlib.sha256('\0'.join(names).encode()).digest()
    words = [int.from_bytes(digest[start : start + 4], 'little') for start in range(0, 16, 4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(seed), spawn_key=words)))


class Noise:
    """
    Noise of one quantity: three channels x, y, z with separate models, or n channels with one.

    Kernels add it from `record` (see `noise_kernels`) while numbers are left; `prepare` draws
    more. `reset` restarts the stream from a seed; `state` and `restore` save and restore the exact
    point in the stream.
    """

    def __init__(
        self,
        channels: Mapping[str, NoiseDescription],
        quantity: str,
        *,
        seed: int,
        names: Sequence[str] = (),
        sample_rate: float,
        count: int | None = None,
        most: int = _NUMBERS,
    ):
        """
        Set up the noise.

        channels: noise by channel as in `SensorDescription.noise`; only the channels for
        `quantity` ('force', 'angular_velocity' …) are used. seed: world seed. names: robot and
        sensor. sample_rate: [Hz], turns a noise density into a stddev. count: channel count for
        one common model under the quantity's name; None for x, y and z. most: numbers drawn at
        once; it changes no value.
        """
        keys = [f'{quantity}.{axis}' for axis in AXES] if count is None else [quantity] * count
        models = [channels.get(key, _NO_NOISE) for key in keys]
        models = [model if model.kind != 'none' else _NO_NOISE for model in models]
        if any(model.density > 0.0 for model in models) and not 0.0 < sample_rate < math.inf:
            raise InvalidValueError(
                'sample_rate', sample_rate, 'above 0 Hz, to turn a density into a stddev'
            )
        self._twin = partial(
            Noise, channels, quantity, names=names, sample_rate=sample_rate, count=count
        )
        self._names = (*names, quantity)
        self._models = models
        self._stddev = np.array([_sample_stddev(model, sample_rate) for model in models])
        self._drifts = [
            (channel, model.dynamic_bias_stddev, model.dynamic_bias_correlation_time)
            for channel, model in enumerate(models)
            if model.dynamic_bias_stddev > 0.0 and model.dynamic_bias_correlation_time > 0.0
        ]
        self.is_silent = all(model is _NO_NOISE for model in models)
        """Whether measured values equal the true ones."""
        size = len(models)
        width = 2 * size if self._drifts else size
        # a silent noise draws nothing
        rows = 1 if self.is_silent else min(max(most // width, 1), _BLOCK)
        self._block = np.zeros((rows, width))
        self._flat = np.zeros(noise_kernels.NUMBER_ROWS * size + 1)
        self._numbers = self._flat[:-1].reshape(-1, size)
        self._numbers[noise_kernels.MEAN] = [model.mean for model in models]
        self._numbers[noise_kernels.DECAY] = 1.0
        self._numbers[noise_kernels.PRECISION] = [
            model.precision if model.kind == 'gaussian_quantized' else 0.0 for model in models
        ]
        self._bias = self._numbers[noise_kernels.BIAS]
        self._decay_over(0.0)
        self.record = np.array(
            [address_of(self._block), address_of(self._flat), rows, -1, width, size], np.int64
        )
        """Record for the kernels."""
        self.reset(seed)

    @property
    def stddev(self) -> np.ndarray:
        """(n,) stddev of the white part of a sample, for message covariances."""
        return self._stddev.copy()

    @property
    def variance(self) -> np.ndarray:
        """(n,) sample variance about the truth: white part, initial and drifting bias."""
        return np.array(
            [
                _bias_variance(model) + s * s
                for model, s in zip(self._models, self._stddev, strict=True)
            ]
        )

    @property
    def bias(self) -> np.ndarray:
        """(n,) present bias."""
        return self._bias.copy()

    def reset(self, seed: int) -> None:
        """Restart from a seed: draw the initial bias."""
        self._generator = noise_generator(seed, *self._names)
        bias_mean = np.array([model.bias_mean for model in self._models])
        bias_stddev = np.array([model.bias_stddev for model in self._models])
        size = len(self._models)
        bias = bias_mean + bias_stddev * self._generator.standard_normal(size)
        flipped = self._generator.random(size) < 0.5
        self._bias[:] = np.where(flipped, -bias, bias)
        self.record[noise_kernels.USED] = -1
        self._block_start = self._generator.bit_generator.state

    def twin(self, seed: int, most: int = _NUMBERS) -> Noise:
        """Return the same noise in a world with another seed. most: numbers drawn at once."""
        return self._twin(seed=seed, most=most)

    def prepare(self, dt: float) -> None:
        """Draw numbers for a sample. dt: time since the previous sample [s], 0 for the first."""
        if self.record[noise_kernels.USED] < 0 or self.record[noise_kernels.USED] == len(
            self._block
        ):
            self._draw_block()
        if dt != self._flat[-1]:
            self._decay_over(dt)

    def state(self) -> NoiseState:
        """Return the present point in the stream."""
        return NoiseState(
            dict(self._block_start),
            int(self.record[noise_kernels.USED]),
            tuple(self._bias.tolist()),
        )

    def restore(self, state: NoiseState) -> None:
        """Return to a point in the stream, from a noise with the same names and models."""
        self._generator.bit_generator.state = state.generator
        self._bias[:] = state.bias
        if state.used >= 0:
            self._draw_block()
        self._block_start, self.record[noise_kernels.USED] = state.generator, state.used

    def _draw_block(self) -> None:
        start = self._generator.bit_generator.state
        try:
            # one row per sample: the order equals sample-by-sample drawing
            self._generator.standard_normal(out=self._block)
            self._block[:, : len(self._models)] *= self._stddev
            self._block_start, self.record[noise_kernels.USED] = start, 0
        except BaseException:
            # an interrupt: the next call draws the same numbers
            self._generator.bit_generator.state = start
            raise

    def _decay_over(self, dt: float) -> None:
        """Let biases drift for the time between two samples [s]."""
        for channel, stddev, tau in self._drifts:
            self._numbers[noise_kernels.DECAY, channel] = math.exp(-dt / tau)
            self._numbers[noise_kernels.SHOCK, channel] = math.sqrt(
                -stddev * stddev * tau / 2.0 * math.expm1(-2.0 * dt / tau)
            )
        self._flat[-1] = dt


def _sample_stddev(model: NoiseDescription, sample_rate: float) -> float:
    return model.density * math.sqrt(sample_rate) if model.density > 0.0 else model.stddev


def _bias_variance(model: NoiseDescription) -> float:
    """Return the larger variance: initial bias, or drift at rest."""
    drift = model.dynamic_bias_stddev**2 * model.dynamic_bias_correlation_time / 2.0
    return max(model.bias_stddev**2, drift)
