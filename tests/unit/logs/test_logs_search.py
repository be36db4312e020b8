"""Search over archives: the quick ways find exactly what looking at each row finds."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.logs.find import find
from jobs.logs.reader import LogReader
from jobs.logs.render import render
from jobs.logs.search import MAX_QUERY, Hit, Query, SearchError, search_log
from jobs.logs.window import window
from tests.unit.logs.log_tools import served, source, write

LINES = [
    b"loss 0.5", b"LOSS=0.4\r", b"\x1b[31mlo\x1b[1mss\x1b[0m 0.3", b"10%\r100% loss", b"caf\xe9 loss", "Größe größe".encode(),
    b"tab\tloss", b"bell\x07loss", b"", b"\x1b]8;;https://loss.test/\x07link\x1b]8;;\x07", b"end  ",
]  # fmt: skip

QUERIES = [
    ("loss", "literal", "insensitive"), ("loss", "literal", "sensitive"), ("GRÖSSE", "literal", "insensitive"), ("größe", "literal", "insensitive"),
    ("größe", "literal", "sensitive"), ("\ufffd", "literal", "insensitive"), ("␇", "literal", "insensitive"), ("10%", "literal", "insensitive"),
    (r"^\S+ \d", "regex", "insensitive"), (r"\s+$", "regex", "insensitive"), (r"^$|^e", "regex", "insensitive"), (r"(?<!\s)loss\Z", "regex", "insensitive"),
    (r"[^a-z]+\s", "regex", "sensitive"), (r"\Aloss", "regex", "insensitive"), (r"\w++$", "regex", "insensitive"), ("x*", "regex", "insensitive"),
]  # fmt: skip


def expected(lines: list[bytes], query: Query) -> list[tuple[int, list[tuple[int, int]]]]:
    rows = [row.text for row in render(b"".join(line + b"\n" for line in lines))]
    return [(number, spans) for number, text in enumerate(rows) if (spans := query.spans(text))]


def found(hits: list[Hit]) -> list[tuple[int, list[tuple[int, int]]]]:
    return [(hit.row, hit.spans) for hit in hits]


@pytest.mark.parametrize(("text", "mode", "case"), QUERIES)
@pytest.mark.parametrize("last", [b"plain", b"\x1b[Aredrawn loss"])
def test_quick_ways_agree_with_the_rows(tmp_path: Path, text: str, mode: str, case: str, last: bytes) -> None:
    lines = [*LINES * 20, last, b"loss"]
    write(tmp_path, served(lines))
    query = Query(text, mode, case)
    with LogReader(tmp_path) as reader:
        assert found(search_log(reader, query, limit=10_000, seconds=60).hits) == expected(lines, query)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ab \t", max_size=4), min_size=1, max_size=120),
    st.sampled_from(["a", "ab", "b a", "a+b", "^a", "b$", "^$|a b", r"\s", r"a\s*b", "(a|b)+ ", r"\bb\b", "[^a]b"]),
    st.sampled_from(["literal", "regex"]),
)
def test_any_text(tmp_path_factory: pytest.TempPathFactory, texts: list[str], pattern: str, mode: str) -> None:
    folder = tmp_path_factory.mktemp("log")
    lines = [text.encode() for text in texts]
    write(folder, served(lines))
    query = Query(pattern, mode)
    with LogReader(folder) as reader:
        assert found(search_log(reader, query, seconds=60).hits) == expected(lines, query)


def test_limit_and_going_on(tmp_path: Path) -> None:
    write(tmp_path, served(b"hit %d" % number for number in range(25)))
    with LogReader(tmp_path) as reader:
        first = search_log(reader, Query("hit"), limit=10)
        assert [hit.row for hit in first.hits] == list(range(10))
        assert first.next_row == 10
        rest = search_log(reader, Query("hit"), start=10, limit=100)
        assert [hit.row for hit in rest.hits] == list(range(10, 25))
        assert rest.next_row is None


def test_no_time_left_says_where_to_go_on(tmp_path: Path) -> None:
    write(tmp_path, served(b"line %d" % number for number in range(1000)))
    with LogReader(tmp_path) as reader:
        assert search_log(reader, Query("nothing"), seconds=-1).next_row == 0


@pytest.mark.parametrize(
    ("text", "mode", "code"),
    [
        ("", "literal", "empty_query"),
        ("x" * (MAX_QUERY + 1), "literal", "too_long"),
        ("(", "regex", "invalid_regex"),
        ("a{99999999999}", "regex", "invalid_regex"),
    ],
)
def test_bad_queries(text: str, mode: str, code: str) -> None:
    with pytest.raises(SearchError) as caught:
        Query(text, mode)
    assert caught.value.code == code


def test_find_gives_positions_of_the_merged_view(tmp_path: Path) -> None:
    for order in range(3):
        write(tmp_path / str(order), served([b"hit" if number % 2 == order % 2 else b"miss" for number in range(10)]))
    sources = [source(tmp_path / str(order), order) for order in range(3)]
    rows = window(sources, 0, 100).rows
    wanted = [(row.position, row.id, [(0, 3)]) for row in rows if row.text == "hit"]
    found = find(sources, Query("hit"))
    assert [(hit.position, hit.id, hit.spans) for hit in found.hits] == wanted
    assert found.next == ""
    assert found.as_json()["hits"][0] == {"n": 0, "id": "0.0", "spans": [[0, 3]]}
    in_turn = window(sources, 0, 100, merged=False).rows
    assert [in_turn[hit.position].id for hit in find(sources, Query("hit"), merged=False).hits] == [
        row.id for row in in_turn if row.text == "hit"
    ]


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 100])
def test_find_goes_on_where_it_stopped(tmp_path: Path, limit: int) -> None:
    for order in range(3):
        write(tmp_path / str(order), served(b"hit %d" % number for number in range(5)))
    sources = [source(tmp_path / str(order), order) for order in range(3)]
    ids, after = [], ""
    while True:
        found = find(sources, Query("hit"), after=after, limit=limit)
        assert len(found.hits) <= limit
        ids += [hit.id for hit in found.hits]
        after = found.next
        if not after:
            break
    assert sorted(ids) == sorted(f"{order}.{number}" for order in range(3) for number in range(5))
