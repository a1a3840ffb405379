"""Noise models in SDF and YAML: types, keys and their ranges."""

from __future__ import annotations

from sim_bridge.description.numbers import Numbers

KINDS = ('none', 'gaussian', 'gaussian_quantized')

_NOT_NEGATIVE = Numbers(minimum=0.0)
KEYS = {
    'mean': Numbers(),
    'stddev': _NOT_NEGATIVE,
    'bias_mean': Numbers(),
    'bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_correlation_time': _NOT_NEGATIVE,
    'precision': _NOT_NEGATIVE,
    'density': _NOT_NEGATIVE,
}
