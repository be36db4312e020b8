"""Splitter, reconnect rule, CRI files, stamps: cases that the shared ones do not have."""

import pytest

from jobs.logs.cri import parse_cri
from jobs.logs.resume import Position, Resume
from jobs.logs.splitter import Piece, Splitter
from jobs.logs.times import format_stamp, parse_stamp, since_time
from tests.unit.logs.log_tools import BASE, served

STAMP = b"2026-03-01T10:00:00.000000000Z"


def pieces(data: bytes, size: int = 1 << 20, cap: int = 65536) -> list[Piece]:
    splitter = Splitter(stamp=7, cap=cap)
    found = []
    for at in range(0, len(data), size):
        found += splitter.feed(data[at : at + size])
    return found + splitter.flush()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (STAMP + b" text\n", [(BASE, b"text", True)]),
        (STAMP + b" \n" + STAMP + b"\n", [(BASE, b"", True), (BASE, b"", True)]),
        (STAMP + b" a\r\n", [(BASE, b"a\r", True)]),
        (STAMP + b"  two blanks\n", [(BASE, b" two blanks", True)]),
        (STAMP + b" no end", [(BASE, b"no end", False)]),
        (b"rpc error: no stamp\n", [(7, b"rpc error: no stamp", True)]),
        (STAMP + b" a\nfailed to watch\n", [(BASE, b"a", True), (BASE, b"failed to watch", True)]),
        (b"2026-03-01T15:45:00.5+05:45 x\n", [(BASE + 500_000_000, b"x", True)]),
        (STAMP + b" " + STAMP + b" own stamp\n", [(BASE, STAMP + b" own stamp", True)]),
        (STAMP, [(BASE, b"", False)]),
    ],
)
def test_lines(data: bytes, size: int, lines: list[tuple[int, bytes, bool]]) -> None:
    assert [(piece.stamp, piece.data, piece.last) for piece in pieces(data, size)] == lines


def test_a_long_line_passes_in_pieces_and_memory_stays_small() -> None:
    data = served([b"x" * 1000, b"y"])
    found = pieces(data, size=100, cap=200)
    assert b"".join(piece.data for piece in found) == b"x" * 1000 + b"y"
    assert [piece.first for piece in found] == [True, *[False] * (len(found) - 2), True]
    assert [piece.last for piece in found] == [*[False] * (len(found) - 2), True, True]
    assert max(len(piece.data) for piece in found) <= 400
    assert {piece.stamp for piece in found} == {BASE, BASE + 1_000_000_000}


@pytest.mark.parametrize("size", [1, 5, 33, 40, 1000])
def test_without_a_cap_every_byte_is_given_out_at_once(size: int) -> None:
    data = served([b"10%\r20%", b"", b"x" * 100, b"end"])[:-1]
    splitter, text = Splitter(cap=0), b""
    found: list[Piece] = []
    for at in range(0, len(data), size):
        found += splitter.feed(data[at : at + size])
    text = b"".join(piece.data + (b"\n" if piece.last else b"") for piece in found)
    assert text == b"10%\r20%\n\n" + b"x" * 100 + b"\nend"
    assert [piece.stamp for piece in found if piece.first] == [BASE + at * 1_000_000_000 for at in range(4)]
    assert splitter.flush() == []


def test_flush_begins_a_new_line_afterwards() -> None:
    splitter = Splitter()
    splitter.feed(STAMP + b" torn")
    splitter.flush()
    (piece,) = splitter.feed(STAMP + b" whole\n")
    assert (piece.first, piece.data) == (True, b"whole")


def taken(stamps: list[int], position: Position) -> tuple[list[int], bool]:
    resume = Resume(position)
    kept = [piece.stamp for piece in resume.filter(Piece(stamp, b"") for stamp in stamps)]
    return kept, resume.gap


@pytest.mark.parametrize(
    ("stamps", "position", "kept", "gap"),
    [
        ([1, 2, 3], Position(), [1, 2, 3], False),
        ([1, 2, 3], Position(2, 1), [3], False),
        ([2, 2, 2, 3], Position(2, 2), [2, 3], False),
        ([3, 4], Position(2, 1), [3, 4], True),
        ([2, 3], Position(2, 2), [3], True),
        ([2, 4, 3], Position(2, 1), [4, 3], False),
        ([], Position(2, 1), [], False),
    ],
)
def test_reconnect_rule(stamps: list[int], position: Position, kept: list[int], gap: bool) -> None:
    assert taken(stamps, position) == (kept, gap)


def test_parts_of_a_line_share_its_fate() -> None:
    resume = Resume(Position(2, 1))
    parts = [
        Piece(2, b"a", last=False),
        Piece(2, b"b", first=False),
        Piece(3, b"c", last=False),
        Piece(3, b"d", first=False),
    ]
    assert [piece.data for piece in resume.filter(parts)] == [b"c", b"d"]


def test_position_counts_lines_at_the_latest_stamp() -> None:
    position = Position()
    assert position.since_time() is None
    for stamp in (BASE, BASE, BASE - 5, BASE + 1, BASE + 1):
        position.add(stamp)
    assert position == Position(BASE + 1, 2)
    assert position.since_time() == "2026-03-01T10:00:00Z"


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (STAMP + b" stdout P never ended", [("stdout", b"never ended")]),
        (STAMP + b" stdout P a\n" + STAMP + b" stdout P b\n", [("stdout", b"ab")]),
        (b"garbage\n", [("stdout", b"garbage")]),
        (STAMP + b" stdlog F x\n", [("stdout", STAMP + b" stdlog F x")]),
        (STAMP + b" stderr F:extra tag\n", [("stderr", b"tag")]),
        (STAMP + b" stdout F", [("stdout", b"")]),
        (STAMP + b" stdout F  lead\n", [("stdout", b" lead")]),
    ],
)
def test_cri(raw: bytes, lines: list[tuple[str, bytes]]) -> None:
    assert [(line.stream, line.data) for line in parse_cri(iter([raw]))] == lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",
        "2026-13-01T10:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T10:61:00Z",
        "2026-03-01T10:00:00",
        "2026-03-01T10:00:00.Z",
        "x" * 30,
    ],
)
def test_no_stamp(text: str) -> None:
    with pytest.raises(ValueError):
        parse_stamp(text)


@pytest.mark.parametrize("ns", [0, 1, BASE, BASE + 123456789, 4_102_444_800_000_000_000])
def test_stamps_there_and_back(ns: int) -> None:
    assert parse_stamp(format_stamp(ns)) == ns
    assert parse_stamp(since_time(ns)) == ns - ns % 1_000_000_000


def test_digits_beyond_nanoseconds_are_cut() -> None:
    assert parse_stamp("2026-03-01T10:00:00.1234567899Z") == BASE + 123456789
