"""Windows of many logs, the live tail, and their JSON, text and HTML forms."""

import json
import random
from pathlib import Path

import pytest

from jobs.logs.archive import Archive
from jobs.logs.html import palette_css, row_html
from jobs.logs.merge import merge, skew_seconds
from jobs.logs.splitter import Piece
from jobs.logs.times import format_stamp
from jobs.logs.window import Source, full_row, position_of, tail, to_ndjson, to_text, window
from tests.unit.logs.log_tools import BASE, served, source, write

PALETTE = Path(__file__).resolve().parents[3] / "static" / "css" / "log-palette.css"


def random_logs(folder: Path, seed: int, equal_stamps: bool) -> tuple[list[Source], list[tuple[int, int]]]:
    """Logs of seven containers with clocks that may step back, and the (order, line) they must be merged to."""
    rnd = random.Random(seed)  # noqa: S311  repeatable test data
    logs: list[list[tuple[int, int]]] = []
    for order in range(7):
        now, lines = BASE, []
        for number in range(rnd.choice([0, 1, 30, 200])):
            now += rnd.choice([0, 0, 1, 5, -3]) if equal_stamps else rnd.randint(-50, 1000)
            lines.append((now, number))
        data = b"".join(format_stamp(stamp).encode() + b" %d/%d\n" % (order, number) for stamp, number in lines)
        write(folder / str(order), data)
        logs.append(lines)
    wanted = [(order, number) for order, _, number in merge(enumerate(logs))]
    return [source(folder / str(order), order) for order in range(7)], wanted


@pytest.mark.parametrize("equal_stamps", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_every_merged_position(tmp_path: Path, seed: int, equal_stamps: bool) -> None:
    sources, wanted = random_logs(tmp_path, seed, equal_stamps)
    texts = [f"{order}/{number}" for order, number in wanted]
    assert window(sources, 0, 0).total == len(wanted)
    for start in range(0, len(wanted) + 1, 7):
        got = window(sources, start, 13)
        assert [row.text for row in got.rows] == texts[start : start + 13]
        assert [row.position for row in got.rows] == list(range(start, min(start + 13, len(wanted))))
    for order, number in random.Random(seed).sample(wanted, min(40, len(wanted))):  # noqa: S311
        assert position_of(sources, str(order), number) == wanted.index((order, number))


def test_negative_start_counts_from_the_end(tmp_path: Path) -> None:
    write(tmp_path / "0", served([b"a", b"b", b"c"]))
    one = [source(tmp_path / "0")]
    assert [row.text for row in window(one, -2, 10).rows] == ["b", "c"]
    assert [row.text for row in window(one, -9, 2).rows] == ["a", "b"]
    assert window(one, 5, 10).rows == []


def test_ranks_and_one_after_the_other(tmp_path: Path) -> None:
    for order in range(3):
        write(tmp_path / str(order), served([b"a%d" % order, b"b%d" % order]))
    sources = [source(tmp_path / str(order), order) for order in range(3)]
    assert [row.text for row in window(sources, 0, 9, ranks={0, 2}).rows] == ["a0", "a2", "b0", "b2"]
    assert [row.text for row in window(sources, 1, 3, merged=False).rows] == ["b0", "a1", "b1"]
    assert window(sources, 0, 9, ranks=set()).rows == []


def test_positions_hold_while_logs_grow(tmp_path: Path) -> None:
    """A line that comes late belongs before others; with the first answer's `at` nothing moves."""
    write(tmp_path / "0", served([b"a", b"c"], step=10), complete=False)
    write(tmp_path / "1", b"", complete=False)
    first = window([source(tmp_path / "0", 0), source(tmp_path / "1", 1)], 0, 10)
    write(tmp_path / "1", served([b"b"], start=BASE + 5), complete=False)
    sources = [source(tmp_path / "0", 0), source(tmp_path / "1", 1)]
    again = window(sources, 1, 10, at=first.at)
    assert [row.text for row in again.rows] == ["c"]
    assert (again.total, again.at) == (2, first.at)
    news = tail(sources, first.at)
    assert [row.text for row in news.rows] == ["b"]
    assert [row.text for row in window(sources, 0, 10).rows] == ["a", "b", "c"]
    assert tail(sources, news.cursor).rows == []


def test_tail_sends_redrawn_rows_again_and_resets_when_behind(tmp_path: Path) -> None:
    write(tmp_path / "0", served([b"start", b"bar 1"]), complete=False)
    cursor = tail([source(tmp_path / "0")], "").cursor
    write(tmp_path / "0", served([b"\x1b[Abar 2", b"x"]), complete=False)
    news = tail([source(tmp_path / "0")], cursor)
    assert [(row.id, row.text) for row in news.rows] == [("0.1", "bar 2"), ("0.2", "x")]
    assert not news.complete
    write(tmp_path / "0", served([b"line"] * 50))
    late = tail([source(tmp_path / "0")], news.cursor, limit=20)
    assert (late.reset, late.rows, late.complete) == (True, [], True)
    assert tail([source(tmp_path / "0")], late.cursor).reset is False


@pytest.mark.parametrize("cursor", ["x", "1:a", "1:2:3:", ",:"])
def test_a_bad_cursor_is_said(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(ValueError):
        tail([source(tmp_path / "0")], cursor)


def test_json_shape(tmp_path: Path) -> None:
    write(
        tmp_path / "0",
        served([b"\x1b[31;1mred\x1b[0m \x1b]8;;https://x.test/?a=1&b=\x07go\x1b]8;;\x07", b"y" * 10_001]),
    )
    got = window([source(tmp_path / "0", rank=3)], 0, 10).as_json()
    assert json.loads(json.dumps(got)) == {
        "start": 0, "total": 2, "at": "0:2", "counted": {"0": 2}, "complete": True,
        "rows": [
            {"n": 0, "id": "0.0", "t": "2026-03-01T10:00:00.000000000Z", "rank": 3, "source": "pod-0",
             "spans": [["red", "fg-red bold"], [" ", ""], ["go", "", "https://x.test/?a=1&b="]]},
            {"n": 1, "id": "0.1", "t": "2026-03-01T10:00:01.000000000Z", "rank": 3, "source": "pod-0",
             "spans": [["y" * 10_000, ""]], "cut": 10_001},
        ],
    }  # fmt: skip


def test_show_all_of_a_cut_row(tmp_path: Path) -> None:
    write(tmp_path / "0", served([b"a", b"z" * 50_000]))
    one = source(tmp_path / "0")
    row = full_row(one, 1)
    assert row is not None
    assert (len(row.text), row.cut) == (50_000, 0)
    assert full_row(one, 2) is None
    assert full_row(one, -1) is None


def test_text_and_ndjson(tmp_path: Path) -> None:
    write(tmp_path / "0", served(["naïve \u2028 \x1b[32mgreen\x1b[0m".encode()]))
    rows = window([source(tmp_path / "0")], 0, 10).rows
    assert list(to_text(rows)) == ["naïve \u2028 green\n"]
    assert list(to_text(rows, with_source=True, with_stamp=True)) == [
        "2026-03-01T10:00:00.000000000Z [pod-0] naïve \u2028 green\n"
    ]
    (line,) = to_ndjson(rows)
    assert line.count("\n") == 1
    assert json.loads(line) == {
        "id": "0.0", "t": "2026-03-01T10:00:00.000000000Z", "rank": 0, "source": "pod-0", "n": 0, "text": "naïve \u2028 green",
    }  # fmt: skip


def test_html_has_only_text_from_the_log(tmp_path: Path) -> None:
    hostile = b'<img src=x onerror=alert(1)> "\'& \x1b[31m</span>\x1b[0m\x1b]8;;https://x.test/"onclick="a\x07link\x1b]8;;\x07'
    write(tmp_path / "0", served([hostile]))
    (row,) = window([source(tmp_path / "0", rank=9)], 0, 1).rows
    assert row_html(row) == (
        '<div class="log-row" data-id="0.0" data-n="0">'
        '<time class="log-time" datetime="2026-03-01T10:00:00.000000000Z">10:00:00.000</time>'
        '<span class="log-rank rank-c1" title="pod-0">9</span>'
        '<span class="log-text">&lt;img src=x onerror=alert(1)&gt; &quot;&#x27;&amp; <span class="fg-red">&lt;/span&gt;</span>'
        '<a href="https://x.test/&quot;onclick=&quot;a" rel="noopener noreferrer nofollow">link</a></span></div>'
    )


def test_html_of_a_cut_row_and_a_note(tmp_path: Path) -> None:
    write(tmp_path / "0", served([b"y" * 20_000]))
    (row,) = window([source(tmp_path / "0")], 0, 1).rows
    assert '<a class="log-cut" href="/row/0.0">show all 20,000 characters</a>' in row_html(row, "/row/")
    assert '<span class="log-cut">' in row_html(row)
    row.note = True
    assert row_html(row).startswith('<div class="log-row log-note"')


def test_no_inline_style_and_every_colour_has_a_class(tmp_path: Path) -> None:
    write(tmp_path / "0", served([b"\x1b[38;2;254;2;1ma\x1b[48;5;17mb\x1b[38;2;9;9;9mc"]))
    (row,) = window([source(tmp_path / "0")], 0, 1).rows
    page = row_html(row)
    assert "style=" not in page
    assert [classes for _, classes, _ in row.spans] == ["fg-idx-196", "fg-idx-196 bg-idx-17", "fg-idx-232 bg-idx-17"]


def test_palette_file_is_what_the_code_makes() -> None:
    assert PALETTE.read_text(encoding="utf-8") == palette_css()


def test_skew_needs_more_than_five_seconds() -> None:
    assert skew_seconds([(BASE, BASE + 4_000_000_000)]) is None
    assert skew_seconds([(BASE, BASE + 90_000_000_000), (BASE, BASE + 80_000_000_000)]) == -80.0
    assert skew_seconds([]) is None


def test_the_row_of_an_open_line_is_in_the_tail_until_it_ends(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "0")
    archive.append([Piece(BASE, b"whole"), Piece(BASE + 1, b"10%", last=False)])
    first = window([source(tmp_path / "0")], 0, 10)
    assert ([row.text for row in first.rows], first.counted) == (["whole"], {"0": 1})
    news = tail([source(tmp_path / "0")], first.at)
    assert [row.text for row in news.rows] == ["10%"]
    archive.append([Piece(BASE + 1, b"\r20%", first=False, last=False)])
    assert [row.text for row in tail([source(tmp_path / "0")], news.cursor).rows] == ["20%"]
    archive.complete("ended")
    archive.close()
    assert [row.text for row in window([source(tmp_path / "0")], 0, 10).rows] == ["whole", "20%"]
