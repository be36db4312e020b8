"""Random logs with redraws: windows and tails of the archive always show what rendering the whole log shows."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.logs.archive import Archive
from jobs.logs.reader import LogReader
from jobs.logs.render import render
from jobs.logs.splitter import Splitter
from jobs.logs.window import Source, tail, window
from tests.unit.logs.log_tools import served, write

PARTS = st.sampled_from(
    [b"a", b"bc", b"\r", b"\x1b[A", b"\x1b[2A", b"\x1b[B", b"\x1b[9B", b"\x1b[K", b"\x1b[2K", b"\x1b[31m", b"\x1b[", b"3", b"\x1b",
     b"\xe4\xb8", b"\x1b]0;", b"\x07", b"\x1b[3C", b"\x08"]
)  # fmt: skip
LINES = st.lists(st.lists(PARTS, max_size=6).map(b"".join), max_size=12)


def texts_of(data: bytes) -> list[str]:
    return [row.text for row in render(data)]


def view(folder: Path) -> Source:
    return Source("1", 0, 0, "pod", LogReader(folder))


@settings(max_examples=150, deadline=None)
@given(LINES, st.lists(PARTS, max_size=4).map(b"".join))
def test_every_window_shows_the_rows(lines: list[bytes], rest: bytes) -> None:
    with TemporaryDirectory() as name:
        data = served(lines) + (served([rest])[:-1] if rest else b"")
        write(Path(name), data)
        wanted = texts_of(b"".join(line + b"\n" for line in lines) + rest)
        source = view(Path(name))
        assert source.reader.rows == len(wanted)
        for start in range(len(wanted) + 1):
            for count in (1, 3, 100):
                rows = window([source], start, count).rows
                assert [row.text for row in rows] == wanted[start : start + count]
        source.reader.close()


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_a_viewer_that_follows_ends_with_the_same_rows(batches: list[list[bytes]]) -> None:
    with TemporaryDirectory() as name:
        archive, splitter = Archive(Path(name)), Splitter()
        shown: dict[str, str] = {}
        cursor = ""
        for batch in batches:
            data = served(batch)
            for at in range(0, len(data), 7):
                archive.append(splitter.feed(data[at : at + 7]))
            source = view(Path(name))
            news = tail([source], cursor)
            cursor = news.cursor
            shown.update({row.id: row.text for row in news.rows})
            source.reader.close()
        archive.close()
        wanted = texts_of(b"".join(line + b"\n" for batch in batches for line in batch))
        assert shown == {f"1.{number}": text for number, text in enumerate(wanted)}


@settings(max_examples=100, deadline=None)
@given(LINES, LINES)
def test_an_archive_that_was_opened_again_knows_its_cursor(first: list[bytes], second: list[bytes]) -> None:
    with TemporaryDirectory() as name:
        write(Path(name), served(first), complete=False)
        write(Path(name), served(second), complete=False)
        source = view(Path(name))
        wanted = texts_of(b"".join(line + b"\n" for line in [*first, *second]))
        assert [row.text for row in window([source], 0, 100).rows] == wanted
        source.reader.close()


def test_redraws_for_hours_are_rendered_once(tmp_path: Path) -> None:
    redraw = b"inner %d |###|\x1b[A\router %d |##|"
    lines = [b"start"] + [redraw % (number, number // 7) for number in range(9000)]
    write(tmp_path, served(lines), complete=False)
    for more in range(3):
        lines += [redraw % (more, 5000 + more)]
        write(tmp_path, served(lines[-1:]), complete=False)
        source = view(tmp_path)
        wanted = texts_of(b"".join(line + b"\n" for line in lines))
        assert [row.text for row in window([source], 0, 10).rows] == wanted
        assert [row.text for row in window([source], 1, 10).rows] == wanted[1:]
        source.reader.close()
