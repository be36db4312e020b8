"""The archive on disk: reading by line and time, notes, the size limit, and crashes at any byte."""

import shutil
from pathlib import Path

import pytest

from jobs.logs.archive import Archive, ArchiveBusy, read_meta
from jobs.logs.reader import LogReader, merged_lines
from jobs.logs.resume import Position, Resume
from jobs.logs.splitter import Piece, Splitter
from jobs.logs.times import format_stamp
from tests.unit.logs.log_tools import BASE, served, write

SECOND = 1_000_000_000


def test_read_tail_since(tmp_path: Path) -> None:
    write(tmp_path / "a", served(b"line %d" % number for number in range(100)))
    with LogReader(tmp_path / "a") as reader:
        assert (reader.lines, reader.rows, reader.complete) == (100, 100, True)
        assert [line.data for line in reader.read(98, 10)] == [b"line 98", b"line 99"]
        assert [line.data for line in reader.tail(2)] == [b"line 98", b"line 99"]
        assert [line.stamp for line in reader.tail(1)] == [BASE + 99 * SECOND]
        assert reader.since(BASE) == 0
        assert reader.since(BASE + 10 * SECOND) == 10
        assert reader.since(BASE + 10 * SECOND + 1) == 11
        assert reader.since(BASE + 1000 * SECOND) == 100
        assert [line.data for line in reader.read(5, 1, limit=3)] == [b"lin"]


def test_a_folder_that_is_not_there_is_an_empty_log(tmp_path: Path) -> None:
    with LogReader(tmp_path / "none") as reader:
        assert (reader.lines, reader.rows, reader.read(0, 5), reader.render(0, 5), reader.complete) == (
            0,
            0,
            [],
            [],
            False,
        )
        assert b"".join(reader.raw()) == b""
        assert reader.last_stamp == 0


def test_stamped_lines_are_what_was_served(tmp_path: Path) -> None:
    data = served([b"a", b"", b"\xff\x00", b"x" * 3_000_000, b"end"])
    write(tmp_path / "a", data, chunk=100_000)
    with LogReader(tmp_path / "a") as reader:
        assert b"".join(reader.stamped()) == data


def test_a_stamp_that_steps_back_is_shown_and_never_changes_the_order(tmp_path: Path) -> None:
    data = b"".join(
        format_stamp(BASE + offset).encode() + b" x\n" for offset in (5 * SECOND, 1 * SECOND, 7 * SECOND, 6 * SECOND)
    )
    write(tmp_path / "a", data)
    with LogReader(tmp_path / "a") as reader:
        assert [(line.stamp - BASE) // SECOND for line in reader.read(0, 4)] == [5, 1, 7, 6]
        assert [(reader.key(line) - BASE) // SECOND for line in range(4)] == [5, 5, 7, 7]
    archive = Archive(tmp_path / "a")
    assert archive.position == Position(BASE + 7 * SECOND, 1)
    archive.close()


def test_merged_lines(tmp_path: Path) -> None:
    write(tmp_path / "a", served([b"0", b"2"], step=2 * SECOND))
    write(tmp_path / "b", served([b"1", b"3"], start=BASE + SECOND, step=2 * SECOND))
    with LogReader(tmp_path / "a") as first, LogReader(tmp_path / "b") as second:
        readers = [first, second]
        assert [readers[at].read(line, 1)[0].data for at, line in merged_lines(readers)] == [b"0", b"1", b"2", b"3"]


def test_notes_are_lines_but_not_in_the_raw_download(tmp_path: Path) -> None:
    archive, splitter = Archive(tmp_path / "a"), Splitter()
    archive.append(splitter.feed(served([b"one"])))
    archive.note("hello")
    archive.append(splitter.feed(served([b"two"], start=BASE + SECOND)))
    archive.close()
    with LogReader(tmp_path / "a") as reader:
        assert [(row.row.text, row.note) for row in reader.render(0, 9)] == [
            ("one", False), ("[trainui] hello", True), ("two", False),
        ]  # fmt: skip
        assert b"".join(reader.raw()) == b"one\ntwo\n"


def test_the_size_limit_says_so_and_counts_the_rest(tmp_path: Path) -> None:
    archive, splitter = Archive(tmp_path / "a", max_bytes=100), Splitter()
    for number in range(50):
        archive.append(splitter.feed(served([b"line %02d" % number])))
    archive.close()
    archive = Archive(tmp_path / "a", max_bytes=100)
    archive.append(Splitter().feed(served([b"line 51"])))
    archive.complete("ended")
    archive.close()
    with LogReader(tmp_path / "a") as reader:
        assert reader.truncated
        assert reader.dropped_bytes == (50 - 12) * 8 + 8
        texts = [row.row.text for row in reader.render(0, 100)]
        assert texts[:-1] == [f"line {number:02d}" for number in range(12)]
        assert texts[-1].startswith("[trainui] log cut: the limit of 100 bytes")


def test_one_writer(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    with pytest.raises(ArchiveBusy):
        Archive(tmp_path / "a")
    archive.close()
    Archive(tmp_path / "a").close()


def test_open_line_is_seen_dropped_and_replaced(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    archive.append([Piece(BASE, b"whole"), Piece(BASE + 1, b"hel", last=False)])
    with LogReader(tmp_path / "a") as reader:
        assert [(line.data, line.ended) for line in reader.read(0, 5)] == [(b"whole", True), (b"hel", False)]
        assert reader.rows == 2
    archive.drop_open()
    with LogReader(tmp_path / "a") as reader:
        assert reader.lines == 1
    archive.append([Piece(BASE + 1, b"hello")])
    archive.close()
    with LogReader(tmp_path / "a") as reader:
        assert [line.data for line in reader.read(0, 5)] == [b"whole", b"hello"]


def test_last_line_without_lf_stays_when_complete(tmp_path: Path) -> None:
    write(tmp_path / "a", served([b"one", b"two"])[:-1])
    Archive(tmp_path / "a").close()
    with LogReader(tmp_path / "a") as reader:
        assert b"".join(reader.raw()) == b"one\ntwo"


LINES = [b"first", b"", b"\rbar 1\x1b[A", b"over", b"\x1b[Aup\x1b[B", b"long " * 20, b"last"]


def crash(folder: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        path = folder / name
        if path.stat().st_size > size:
            path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize("name", ["log", "lines", "moves", "clock", "notes"])
def test_a_crash_at_any_byte_is_mended(tmp_path: Path, name: str) -> None:
    """Whatever one file kept of the last write, opening mends it and the same stream read again gives the whole log."""
    data = served(LINES[:3]) + served(LINES[3:], start=BASE + SECOND)  # the clock steps back
    whole, part = tmp_path / "whole", tmp_path / "part"
    write(whole, data)
    with LogReader(whole) as reader:
        wanted = [row.row.text for row in reader.render(0, 100)]
    (whole / "meta.json").unlink()
    for size in range((whole / name).stat().st_size):
        shutil.copytree(whole, part)
        crash(part, {name: size})
        archive = Archive(part)
        splitter, resume = Splitter(archive.last_stamp), Resume(archive.position)
        if name in ("log", "lines"):
            archive.append(resume.filter(splitter.feed(data)))
        archive.complete("ended")
        archive.close()
        with LogReader(part) as reader:
            assert reader.lines == len(reader.read(0, 100))
            if name in ("log", "lines"):
                texts = b"".join(reader.raw()).split(b"\n")[:-1]
                # lines before the last stamp are dropped when they come again, so a stepped-back line may be missing, never doubled
                assert [line for line in LINES if line in texts] == texts
                if texts == LINES:
                    assert [row.row.text for row in reader.render(0, 100)] == wanted
            else:
                assert b"".join(reader.raw()).split(b"\n")[:-1] == LINES
        shutil.rmtree(part)


def test_bytes_without_entries_and_entries_without_bytes(tmp_path: Path) -> None:
    write(tmp_path / "a", served([b"one", b"two", b"three"]), complete=False)
    with (tmp_path / "a" / "log").open("ab") as log:
        log.write(b"nobody knows these\nlines\n")
    archive = Archive(tmp_path / "a")
    assert (archive.lines, archive.bytes) == (3, len(b"one\ntwo\nthree\n"))
    archive.close()
    with (tmp_path / "a" / "lines").open("ab") as lines:
        lines.write((1000).to_bytes(8, "little") * 2 + b"torn")
    archive = Archive(tmp_path / "a")
    assert archive.lines == 3
    archive.append([Piece(BASE + 9 * SECOND, b"four")])
    archive.close()
    with LogReader(tmp_path / "a") as reader:
        assert [line.data for line in reader.read(0, 9)] == [b"one", b"two", b"three", b"four"]


def test_meta_that_is_torn_is_no_meta(tmp_path: Path) -> None:
    write(tmp_path / "a", served([b"one"]))
    (tmp_path / "a" / "meta.json").write_text('{"complete"')
    assert read_meta(tmp_path / "a") == {}
