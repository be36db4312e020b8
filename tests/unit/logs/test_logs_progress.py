"""Metrics from printed lines."""

import pytest

from jobs.logs.progress import MetricParser, parse_line

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("line", "values", "step"),
    [
        (b'{"step": 120, "loss": 0.31, "accuracy": 0.9}', {"loss": 0.31, "accuracy": 0.9}, 120),
        (b'{"loss": 1, "note": "x", "ok": true, "list": [1]}', {"loss": 1.0}, None),
        (b'{"step": 3, "speed": 10.5}', {"speed": 10.5}, 3),
        (
            b"{'loss': 2.5, 'learning_rate': 1e-05, 'epoch': 0.5}",
            {"loss": 2.5, "learning_rate": 1e-5, "epoch": 0.5},
            None,
        ),
        (b"loss=0.31 accuracy=0.9", {"loss": 0.31, "accuracy": 0.9}, None),
        (b"step 12/100: loss=.5, lr=3e-4", {"loss": 0.5, "lr": 3e-4}, 12),
        (b"[rank0] step=7 train/loss=-1.25", {"train/loss": -1.25}, 7),
        (b" 10%|#   | 1/10 loss=9\r 20%|##  | 2/10 loss=8\r", {"loss": 8.0}, None),
        (b"\x1b[32mloss=1.5\x1b[0m", {"loss": 1.5}, None),
        (b'{"event": "start", "pid": 12}', {}, None),
        (b"rank=0 world_size=2 port=29500", {}, None),
        (b"loss=nan", {}, None),
        (b'{"step": 1, "loss": NaN, "acc": 1}', {"acc": 1.0}, 1),
        (b"loss=1e999 acc=1", {"acc": 1.0}, None),
        (b"url?loss=1.2.3", {}, None),
        (b'{"step": ' + b"9" * 400 + b', "loss": 1}', {"loss": 1.0}, None),
        (b"[" * 1000, {}, None),
        (b'{"a":' * 300, {}, None),
        (b"\xff\xfe loss=2", {"loss": 2.0}, None),
        (b"plain text", {}, None),
        (b"", {}, None),
    ],
)
def test_lines(line: bytes, values: dict[str, float], step: int | None) -> None:
    samples = parse_line(line, 5)
    assert {sample.name: sample.value for sample in samples} == values
    assert {(sample.step, sample.stamp) for sample in samples} == ({(step, 5)} if values else set())


def test_rate_limit_keeps_the_last_value() -> None:
    parser = MetricParser(interval_seconds=1)
    given = []
    for number in range(35):
        given += parser.line(b"loss=%d" % number, number * SECOND // 10)
    assert [sample.value for sample in given] == [0, 10, 20, 30]
    assert [sample.value for sample in parser.flush()] == [34]
    assert parser.flush() == []


def test_names_are_limited() -> None:
    parser = MetricParser()
    given = [sample for number in range(500) for sample in parser.line(b"loss_%d=1" % number, 0)]
    assert len(given) == 64


def test_a_line_in_parts_is_one_line() -> None:
    parser = MetricParser()
    assert parser.part(b"loss=0.", 0, first=True, last=False) == []
    assert parser.part(b"2", 0, first=False, last=False) == []
    assert [sample.value for sample in parser.part(b"5", 0, first=False, last=True)] == [0.25]
    for _ in range(100):
        parser.part(b"\rloss=9 " * 1000, 0, first=False, last=False)
    assert [sample.value for sample in parser.part(b"\rloss=3", 9 * SECOND, first=False, last=True)] == [3]
