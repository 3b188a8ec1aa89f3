from __future__ import annotations

import numpy as np
import pytest

from inquesto_core.instruments.resample import Resampler, resampled_length

RATES = [
    4000,
    8000,
    10_667,
    11_025,
    12_000,
    16_000,
    22_050,
    24_000,
    32_000,
    44_100,
    48_000,
    96_000,
    192_000,
]


def resample(sound, rate_hz, block):
    resampler = Resampler(rate_hz)
    for at in range(0, sound.size, block):
        resampler.push(sound[at : at + block])
    return resampler.finish()


@pytest.mark.parametrize("rate_hz", RATES)
def test_an_impulse_stays_where_it_is_and_the_length_is_exact(rate_hz):
    sound = np.zeros(3 * rate_hz + 7, dtype=np.float32)
    sound[rate_hz] = 1.0
    out = resample(sound, rate_hz, block=5000)
    assert abs(int(np.argmax(np.abs(out))) - 16_000) <= 1
    assert out.size == resampled_length(sound.size, rate_hz)
    assert out.dtype == np.float32


@pytest.mark.parametrize("rate_hz", [8000, 44_100])
def test_the_blocks_do_not_matter(rate_hz):
    sound = np.random.default_rng(1).standard_normal(2 * rate_hz).astype(np.float32)
    np.testing.assert_array_equal(resample(sound, rate_hz, 1 << 16), resample(sound, rate_hz, 977))


def test_sixteen_kilohertz_goes_through_untouched():
    sound = np.random.default_rng(1).standard_normal(600_000).astype(np.float32)
    np.testing.assert_array_equal(resample(sound, 16_000, 65_536), sound)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_shortest_inputs_have_their_length_too(n):
    assert resample(np.ones(n, dtype=np.float32), 8000, 1).size == 2 * n


@pytest.mark.parametrize(
    ("frames", "rate_hz", "length"),
    [(1, 48_000, 0), (3, 48_000, 1), (3, 32_000, 2), (1, 32_000, 1)],
)
def test_the_length_is_rounded_half_up(frames, rate_hz, length):
    assert resampled_length(frames, rate_hz) == length
