"""The row model beyond the shared cases: odd and hostile escapes, limits, rows that are final."""

import tracemalloc

import pytest

from jobs.logs.render import REACH, Renderer, render
from jobs.logs.style import PLAIN, Style, apply_sgr

TEXTS = [
    ("a\x1bPq1;2\x1b\\b", ["ab"], "DCS is removed"),
    ("a\x1b_app\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", ["abcd"], "APC, PM, SOS are removed"),
    ("a\x1b]0;t\x1b[31mb", ["ab"], "an escape ends an OSC and counts itself"),
    ("a\x1b]0;t\x01b", ["a␁b"], "an illegal control ends an OSC and is shown"),
    ("a\x1b]0;t\rb\x07c", ["ac"], "CR may be in a control string"),
    ("a\x1b[3\x011mb", ["a␁1mb"], "an illegal control ends a CSI and is shown"),
    ("a\x1b[3émb", ["aémb"], "a letter that is not ASCII ends a CSI"),
    ("abc\x1b[1\rX", ["Xbc"], "CR ends a CSI and returns"),
    ("a\x1b\x1b[1mb", ["ab"], "an escape inside an escape begins anew"),
    ("a\x1b[>4;2mb\x1b[?25lc\x1b[!pd\x1b[4 qe", ["abcde"], "private and intermediate forms do nothing"),
    ("a\x1b#8b\x1b%Gc\x1b*Bd", ["abcd"], "two-byte escapes with an intermediate"),
    ("ab\x1bcd", ["abd"], "full reset does nothing to a log"),
    ("abcdef\x1b[3D\x1b[1Kg", ["   gef"], "erase to the cursor blanks up to and with it"),
    ("abc\x1b[2Kd", ["   d"], "erase line keeps the column"),
    ("abc\r\x1b[Kd", ["d"], "erase to the end"),
    ("abc\x1b[1Kd", ["   d"], "erase to the cursor beyond the end"),
    ("abc\x1b[3Kd", ["abcd"], "an unknown erase does nothing"),
    ("x\x1b[5Cy", ["x     y"], "forward leaves blanks"),
    ("abc\x1b[0Dd", ["abd"], "0 counts as 1"),
    ("a\nb\x1b[9B\x1b[9Bc", ["a", "bc"], "down stops at the lowest row"),
    ("a\nb\n\x1b[2A\x1b[1Bc", ["a", "c"], "down after up"),
    ("a\n\n\n\x1b[2Ab", ["a", "b", ""], "rows ended by LF stay"),
    ("\x1b[31m\r\x1b[0m", [], "no character, no row"),
    ("\t|\x1f\x80", ["\t|␟\x80"], "TAB stays, unit separator is shown, C1 is text"),
    ("a\x1b", ["a"], "lone escape at the end"),
    ("e\u0301\rX", ["X\u0301"], "one code point is one cell"),
    ("12345\b\b\b\b\b\b\bX", ["X2345"], "backspace stops at the first column"),
]


@pytest.mark.parametrize(
    ("text", "rows", "why"), TEXTS, ids=lambda value: value if isinstance(value, str) and " " in value else ""
)
def test_text(text: str, rows: list[str], why: str) -> None:
    assert [row.text for row in render(text.encode())] == rows, why


@pytest.mark.parametrize(
    ("text", "rows", "why"), TEXTS, ids=lambda value: value if isinstance(value, str) and " " in value else ""
)
def test_any_split_gives_the_same(text: str, rows: list[str], why: str) -> None:
    data = text.encode()
    for at in range(1, len(data)):
        renderer = Renderer()
        renderer.feed(data[:at])
        renderer.feed(data[at:])
        renderer.finish()
        assert [row.text for row in renderer.take(everything=True)] == rows, (why, at)


@pytest.mark.parametrize(
    ("parameters", "style"),
    [
        ("38:5:208", Style(fg="idx:208")),
        ("38:2:1:2:3", Style(fg="#010203")),
        ("48:2::1:2:3", Style(bg="#010203")),
        ("4:3", Style(underline=True)),
        ("4:0", PLAIN),
        ("38;5", PLAIN),
        ("38;7;1", Style(bold=True, inverse=True)),
        ("9" * 5000, PLAIN),
        ("٣١", PLAIN),
        ("1;2;22", PLAIN),
    ],
)
def test_sgr(parameters: str, style: Style) -> None:
    assert apply_sgr(PLAIN, parameters) == style


@pytest.mark.parametrize(
    "uri", ["javascript:alert(1)", "https://x.test/a b", "//x.test", "ftp://x.test", "https://" + "a" * 5000]
)
def test_no_link(uri: str) -> None:
    (row,) = render(f"\x1b]8;;{uri}\x1b\\text\x1b]8;;\x1b\\".encode())
    assert row.runs() == [("text", PLAIN)]


def test_link_ends_at_the_line_and_not_at_reset() -> None:
    first, second = render(b"\x1b]8;;https://x.test/\x07a\x1b[0mb\nc")
    assert first.runs() == [("ab", Style(link="https://x.test/"))]
    assert second.runs() == [("c", PLAIN)]


def test_a_jump_costs_no_memory() -> None:
    (row,) = render(b"\x1b[999999999999999999999Cx")
    assert row.length == 10_001
    (row,) = render(b"\x1b[99999999Gx")
    assert row.length == 10_001


def test_a_jump_never_goes_back() -> None:
    (row,) = render(b"a" * 20_000 + b"\x1b[5Cb")
    assert row.length == 20_001


def test_endless_escape_is_bounded() -> None:
    renderer = Renderer()
    tracemalloc.start()
    for _ in range(200):
        renderer.feed(b"\x1b]0;" + b"x" * 65536)
        renderer.feed(b"\x1b[" + b"1;" * 32768)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    renderer.feed(b"\nafter\n")
    assert renderer.get(1).text == "after"
    assert peak < 3_000_000


def test_only_the_first_cells_are_kept_but_all_are_counted() -> None:
    renderer = Renderer(max_cells=4)
    renderer.feed(b"\x1b[31mabcdef\x1b[0mgh\r\x1b[2Cxyzuvwxyz\n0123456789\x1b[5D\x1b[K\n\x1b[9Cz")
    assert [(renderer.get(n).text, renderer.get(n).length) for n in range(3)] == [
        ("abxy", 11),
        ("0123", 5),
        ("    ", 10),
    ]
    assert renderer.get(0).runs() == [("ab", Style(fg="red")), ("xy", PLAIN)]


def test_old_rows_are_final() -> None:
    renderer = Renderer()
    renderer.feed(b"".join(b"%d\n" % number for number in range(REACH + 10)))
    early = renderer.take()
    assert [row.text for row in early] == [str(number) for number in range(10)]
    renderer.feed(b"\x1b[99999Anew")
    rest = renderer.take(everything=True)
    assert len(rest) == REACH
    assert rest[0].text == "new"  # over the 10 of row 10
    assert rest[1].text == "11"


def test_live_rows_are_seen_before_their_end() -> None:
    renderer = Renderer()
    renderer.feed(b"10%\xe2")
    assert renderer.get(0).text == "10%"
    renderer.feed(b"\x96\x88")
    assert renderer.get(0).text == "10%█"
