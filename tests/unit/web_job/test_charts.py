"""Lines, ticks and numbers."""

import math

import pytest

from jobs.web.job.charts import HEIGHT, WIDTH, draw, number, round_steps


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0, "0"),
        (0.12345, "0.1235"),
        (1.0, "1"),
        (12345.0, "12,345"),
        (18714.02, "18,714"),
        (0.00003429, "3.43e-5"),
        (2.1e9, "2.1e+9"),
        (-3.5, "-3.5"),
        (-1e-9, "-1e-9"),
        (1234.56, "1,234.6"),
        (1e10, "1e+10"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("low", "high", "steps"),
    [(0, 1, [0, 0.5, 1]), (0, 2.4, [0, 1, 2]), (-1, 1, [-1, -0.5, 0, 0.5, 1]), (3, 3, [3]), (math.nan, 1, [])],
)
def test_round_steps(low, high, steps):
    assert round_steps(low, high) == steps


def test_a_line_spans_the_box_from_first_to_last():
    line = draw([10.0, 20.0, 30.0], [1.0, 3.0, 2.0])
    assert line is not None
    assert line.path.startswith("M0.0 ")
    assert f"L{WIDTH:.1f} " in line.path
    assert line.area.endswith("Z")
    assert line.seconds == 20.0
    assert all(0 <= tick.at <= HEIGHT and 0 <= tick.percent <= 100 for tick in line.ticks)


@pytest.mark.parametrize(("times", "values"), [([], []), ([1.0], [math.nan]), ([1.0, 2.0], [math.inf, math.nan])])
def test_nothing_to_draw(times, values):
    assert draw(times, values) is None


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0], [0.0, 0.0, 0.0]])
def test_a_flat_line_lies_inside_the_box(values):
    line = draw([float(i) for i in range(len(values))], values)
    assert line is not None
    assert 0 < line.end[1] < HEIGHT
    assert "nan" not in line.path
