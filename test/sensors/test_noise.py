"""The noise model against its closed forms, and its reproducibility."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.description.model import NoiseDescription
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sensors import noise as noise_module
from sim_bridge.sensors.noise import Noise, noise_generator
from sim_bridge.sensors.noise_kernels import add_noise, has_random_numbers

RATE = 1000.0


def make(seed=1, names=('arm', 'wrist'), rate=RATE, quantity='force', **values):
    """Build noise with the same model on the three axes."""
    model = NoiseDescription(**{'kind': 'gaussian', **values})
    channels = {f'{quantity}.{axis}': model for axis in 'xyz'}
    return Noise(channels, quantity, seed=seed, names=names, sample_rate=rate)


def run(noise, count, value=(0.0, 0.0, 0.0), dt=1.0 / RATE):
    """Return samples for a constant value; (count, 3)."""
    samples = np.empty((count, 3))
    measure(noise, np.array(value, dtype=float), dt, samples)
    return samples


def measure(noise, true, dt, samples):
    """Write samples for a constant value, drawing numbers when they run out."""
    taken = 0
    while taken < len(samples):
        noise.prepare(dt)
        taken = take_samples(noise.record, true, dt, taken, samples)


@entry
def take_samples(
    record_inout: IntVector, true: FloatVector, dt: float, first: int, samples_out: FloatMatrix
):
    """Write samples from a row on while there are numbers; return the next row."""
    row = first
    while row < samples_out.shape[0] and has_random_numbers(record_inout, dt):
        add_noise(record_inout, true, 0, samples_out[row], 0)
        row += 1
    return row


def test_white_noise_has_the_declared_mean_and_stddev():
    """Compare the first moments with the declaration, within five sigma."""
    count = 40_000
    samples = run(make(mean=0.3, stddev=0.2), count, value=(1.0, 2.0, 3.0))
    error_of_mean = 0.2 / math.sqrt(count)
    assert samples.mean(axis=0) == pytest.approx([1.3, 2.3, 3.3], abs=5 * error_of_mean)
    error_of_stddev = 0.2 / math.sqrt(2 * count)
    assert samples.std(axis=0) == pytest.approx([0.2] * 3, abs=5 * error_of_stddev)


def test_white_noise_is_normal_and_uncorrelated():
    """Check the fourth moment, the correlation in time and the correlation between axes."""
    count = 40_000
    samples = run(make(stddev=1.0), count)
    assert (samples**4).mean(axis=0) == pytest.approx([3.0] * 3, abs=5 * math.sqrt(96 / count))
    lagged = (samples[1:] * samples[:-1]).mean(axis=0)
    across = (samples[:, [0, 1, 2]] * samples[:, [1, 2, 0]]).mean(axis=0)
    assert np.abs([lagged, across]).max() < 5 / math.sqrt(count)


def test_channels_have_models_of_their_own():
    """Give noise to one axis only."""
    channels = {
        'force.y': NoiseDescription(kind='gaussian', stddev=1.0, mean=100.0),
        'torque.x': NoiseDescription(kind='gaussian', stddev=1.0),
    }
    samples = run(Noise(channels, 'force', seed=0, sample_rate=RATE), 100, value=(1.0, 2.0, 3.0))
    assert (samples[:, [0, 2]] == [1.0, 3.0]).all()
    assert samples[:, 1].mean() == pytest.approx(102.0, abs=1.0)


def test_initial_bias_has_the_declared_distribution_with_either_sign():
    """Draw the bias for many sensors: half around +bias_mean, half around -bias_mean."""
    biases = np.concatenate(
        [make(names=('arm', str(i)), bias_mean=5.0, bias_stddev=0.5).bias for i in range(2000)]
    )
    assert (biases > 0).mean() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(6000))
    assert np.abs(biases).mean() == pytest.approx(5.0, abs=5 * 0.5 / math.sqrt(6000))
    assert np.abs(biases).std() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(12000))


def test_constant_bias_stays_and_is_added():
    """Read the bias in noise without any other term."""
    noise = make(bias_mean=2.0, bias_stddev=0.1, mean=1.0)
    samples = run(noise, 600, value=(10.0, 20.0, 30.0))
    assert samples == pytest.approx(np.tile([11.0, 21.0, 31.0] + noise.bias, (600, 1)))


@pytest.mark.parametrize('dt', [0.01, 0.5])
def test_dynamic_bias_is_the_ornstein_uhlenbeck_process(dt):
    """
    Compare stationary variance and autocorrelation with the closed forms.

    dB = -B/tau dt + s dW has the variance s^2 tau / 2 and the autocorrelation exp(-lag/tau), for
    any step.
    """
    stddev, tau, count = 0.4, 2.0, 60_000
    noise = make(dynamic_bias_stddev=stddev, dynamic_bias_correlation_time=tau, rate=1 / dt)
    path = run(noise, count, dt=dt)[int(10 * tau / dt) :]
    variance = stddev**2 * tau / 2
    # the correlation time is tau: this many independent samples
    looks = 3 * len(path) * dt / tau
    assert (path**2).mean() == pytest.approx(variance, rel=5 * math.sqrt(2 / looks))
    for lag in (1, round(tau / dt)):
        correlation = (path[lag:] * path[:-lag]).mean() / (path**2).mean()
        assert correlation == pytest.approx(math.exp(-lag * dt / tau), abs=5 / math.sqrt(looks))


def test_dynamic_bias_starts_at_the_bias_and_spreads_as_the_closed_form_says():
    """Compare many runs: mean b0 exp(-t/tau), variance s^2 tau/2 (1 - exp(-2t/tau))."""
    stddev, tau, steps, dt = 1.0, 0.05, 20, 1e-3
    ends = []
    for number in range(700):
        noise = make(
            names=(str(number),),
            bias_mean=3.0,
            dynamic_bias_stddev=stddev,
            dynamic_bias_correlation_time=tau,
        )
        start = noise.bias
        run(noise, steps, dt=dt)
        ends.append(noise.bias - start * math.exp(-steps * dt / tau))
    spread = np.array(ends).ravel()
    variance = stddev**2 * tau / 2 * (1 - math.exp(-2 * steps * dt / tau))
    assert spread.mean() == pytest.approx(0.0, abs=5 * math.sqrt(variance / spread.size))
    assert spread.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / spread.size))


def test_dynamic_bias_stands_still_without_time():
    """Sample with dt 0: no decay and no shock."""
    noise = make(bias_mean=1.0, dynamic_bias_stddev=1.0, dynamic_bias_correlation_time=1.0)
    before = noise.bias
    run(noise, 5, dt=0.0)
    assert (noise.bias == before).all()


def test_quantised_samples_are_multiples_rounded_half_away_from_zero():
    """Round exact halves both ways, then noisy values."""
    exact = make(kind='gaussian_quantized', precision=0.5)
    assert run(exact, 1, value=(0.25, -0.25, 0.74)).tolist() == [[0.5, -0.5, 0.5]]
    samples = run(make(kind='gaussian_quantized', precision=0.125, stddev=1.0), 1000) / 0.125
    assert (samples == np.rint(samples)).all()


def test_plain_noise_ignores_the_precision():
    """Quantise only the quantised type, as in SDF."""
    assert run(make(kind='gaussian', precision=0.5), 1, value=(0.3, 0.3, 0.3))[0, 0] == 0.3


@pytest.mark.parametrize('rate', [100.0, 1000.0])
def test_density_gives_the_same_spectrum_at_any_rate(rate):
    """Turn a density into the stddev in a sample: density * sqrt(rate)."""
    noise = make(density=0.01, stddev=123.0, rate=rate)
    assert noise.stddev == pytest.approx([0.01 * math.sqrt(rate)] * 3)
    assert run(noise, 20_000).std() == pytest.approx(0.01 * math.sqrt(rate), rel=0.03)


def test_density_needs_a_rate():
    """Refuse a density without a sample rate."""
    with pytest.raises(InvalidValueError, match='sample_rate'):
        make(density=0.01, rate=0.0)


def test_silence():
    """Return true values without a declared noise, or with type none."""
    for noise in (
        Noise({}, 'force', seed=0, sample_rate=RATE),
        make(kind='none', stddev=1.0, bias_mean=2.0),
    ):
        assert noise.is_silent
        assert run(noise, 3, value=(1.0, 2.0, 3.0)).tolist() == [[1.0, 2.0, 3.0]] * 3
    assert not make(stddev=1.0).is_silent


FULL = {
    'stddev': 0.1,
    'mean': 0.01,
    'bias_mean': 1.0,
    'bias_stddev': 0.2,
    'dynamic_bias_stddev': 0.3,
    'dynamic_bias_correlation_time': 5.0,
}
MODELS = {
    'plain': {'stddev': 0.1, 'bias_mean': 1.0, 'bias_stddev': 0.2},
    'drifting': FULL,
    'quantised': {**FULL, 'kind': 'gaussian_quantized', 'precision': 1e-3},
}


@pytest.mark.parametrize('model', MODELS.values(), ids=MODELS)
def test_samples_do_not_depend_on_the_block(model, monkeypatch):
    """Draw the same noise in blocks with one row, seven rows and the usual number."""
    usual = run(make(**model), 600)
    for block in (1, 7):
        monkeypatch.setattr(noise_module, '_BLOCK', block)
        assert (run(make(**model), 600) == usual).all()


@pytest.mark.parametrize('model', MODELS.values(), ids=MODELS)
def test_reset_begins_again(model):
    """Reset to the same seed and to another."""
    noise = make(**model)
    first = run(noise, 300)
    noise.reset(1)
    assert (run(noise, 300) == first).all()
    noise.reset(2)
    assert (run(noise, 300) != first).any(axis=1).all()


@pytest.mark.parametrize('model', MODELS.values(), ids=MODELS)
@pytest.mark.parametrize('taken', [0, 1, 255, 256, 257, 700])
def test_restore_goes_on_where_the_state_was_taken(model, taken):
    """Save before, in and at the end of a block; restore into the same and another object."""
    noise = make(**model)
    run(noise, taken)
    state = noise.state()
    following = run(noise, 600)
    noise.restore(state)
    assert noise.state() == state
    assert (run(noise, 600) == following).all()
    other = make(seed=99, **model)
    run(other, 10)
    other.restore(state)
    assert other.state() == state
    assert (run(other, 600) == following).all()


def test_a_taken_state_does_not_change_with_the_noise():
    """Keep a saved state while the noise advances."""
    noise = make(**FULL)
    run(noise, 10)
    state = noise.state()
    kept = repr(state)
    run(noise, 300)
    assert repr(state) == kept


def test_seed_and_every_name_matter():
    """Change one thing at a time: seed, robot, sensor, quantity, and the border between names."""
    streams = [
        noise_generator(seed, *names).standard_normal(4).tolist()
        for seed, names in (
            (1, ('arm', 'wrist', 'force')),
            (2, ('arm', 'wrist', 'force')),
            (1, ('leg', 'wrist', 'force')),
            (1, ('arm', 'ankle', 'force')),
            (1, ('arm', 'wrist', 'torque')),
            (1, ('armw', 'rist', 'force')),
        )
    ]
    assert len({tuple(stream) for stream in streams}) == len(streams)


def test_streams_are_the_same_in_another_process():
    """Draw in a process with another hash seed: Python's salted hash must have no influence."""
    code = (
        'from sim_bridge.sensors.noise import noise_generator;'
        'print(noise_generator(7, "arm", "wrist").standard_normal(3).tolist())'
    )
    outputs = {
        subprocess.run(
            [sys.executable, '-c', code],
            env={**os.environ, 'PYTHONHASHSEED': hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ('1', '2')
    }
    assert outputs == {f'{noise_generator(7, "arm", "wrist").standard_normal(3).tolist()}\n'}


@pytest.mark.parametrize('seed', [-1, 1.5, True, '1'])
def test_bad_seeds_are_refused(seed):
    """Refuse all seeds except natural numbers, naming the seed."""
    with pytest.raises(InvalidValueError, match='seed'):
        noise_generator(seed, 'arm')


def test_one_array_may_be_both_input_and_output():
    """Measure in place."""
    for model in MODELS.values():
        apart, in_place = np.empty(3), np.array([1.0, 2.0, 3.0])
        measure(make(**model), in_place, 1e-3, apart.reshape(1, 3))
        measure(make(**model), in_place, 1e-3, in_place.reshape(1, 3))
        assert (apart == in_place).all()
