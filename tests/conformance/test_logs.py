"""The shared log cases: what a container wrote, and the rows, order, lines or hits that must come of it.

Cases of kind `stream`, `chunks` and `generated` are run twice: through the renderer alone, and through archive and window as the product does.
The targets `first_paint_ms_max`, `dom_rows_max`, `server_rss_growth_mb_max`, `lag_seconds_max`, `upstream_connections_max`, `wrap_toggle` and the
timing of case kind `live` concern pages and processes; browser and load tests check them. Inputs over 50 MB run with TRAINUI_LONG=1.
"""

import base64
import hashlib
import importlib.util
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.logs.archive import Archive
from jobs.logs.availability import availability
from jobs.logs.cri import parse_cri
from jobs.logs.html import row_html
from jobs.logs.merge import merge, skew_seconds
from jobs.logs.reader import LogReader
from jobs.logs.render import Renderer
from jobs.logs.resume import Resume
from jobs.logs.row import Row
from jobs.logs.search import Query, SearchError, search_log
from jobs.logs.splitter import Splitter
from jobs.logs.times import format_stamp, local_iso, parse_stamp
from jobs.logs.window import Source, window
from tests.conformance.corpus import cases
from tests.shared_data import shared_file

CASES: list[dict[str, Any]] = cases("logs")
STAMP = format_stamp(1_772_359_200_000_000_000).encode()
LONG_BYTES = 50_000_000


def of(*kinds: str) -> Any:
    chosen = [case for case in CASES if case["input"]["kind"] in kinds]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case["id"])


def chunks_of(case: dict[str, Any]) -> list[bytes]:
    given = case["input"]
    if given["kind"] == "chunks":
        return [base64.b64decode(chunk) for chunk in given["chunks_b64"]]
    if given["kind"] == "live":
        return [f"{line}\n".encode() for _, line in given["lines"]]
    return [base64.b64decode(given["b64"])]


def generate(case: dict[str, Any]) -> Iterator[bytes]:
    spec = importlib.util.spec_from_file_location("make_logs", shared_file("fixtures/make_logs.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generator = case["input"]["generator"]
    made: Iterator[bytes] = module.GENERATORS[generator["name"]](**generator["params"])
    return made


def as_served(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The container's bytes as the kubelet sends them: each line behind a stamp."""
    head, begun = STAMP + b" ", False
    for chunk in filter(None, chunks):
        stamped = (b"" if begun else head) + chunk.replace(b"\n", b"\n" + head)
        begun = not chunk.endswith(b"\n")
        yield stamped if begun else stamped.removesuffix(head)


def captured(folder: Path, served: Iterable[bytes]) -> LogReader:
    """Archive a complete stream and open it for reading."""
    archive, splitter = Archive(folder), Splitter()
    for chunk in served:
        archive.append(splitter.feed(chunk))
    archive.append(splitter.flush())
    archive.complete("ended")
    archive.close()
    return LogReader(folder)


def rendered(chunks: Iterable[bytes]) -> Iterator[Row]:
    renderer = Renderer()
    for chunk in chunks:
        renderer.feed(chunk)
        yield from renderer.take()
    renderer.finish()
    yield from renderer.take(everything=True)


def source_of(reader: LogReader, order: int = 0) -> Source:
    return Source(str(order), order, order, "pod", reader)


def window_rows(reader: LogReader, page: int = 1000) -> Iterator[Any]:
    """All rows by pages of the given size, each page asked for by position."""
    start = 0
    while rows := window([source_of(reader)], start, page).rows:
        yield from rows
        start += len(rows)


@of("stream", "chunks", "live")
def test_rows(case: dict[str, Any], tmp_path: Path) -> None:
    expect, chunks = case["expect"], chunks_of(case)
    rows = list(rendered(chunks))
    assert [row.text for row in rows] == expect["rows"]
    if "cells" in expect:
        cells = [[[text, style.as_dict()] for text, style in row.runs()] for row in rows]
        assert cells == expect["cells"]
    with captured(tmp_path / "log", as_served(chunks)) as reader:
        shown = list(window_rows(reader))
        assert [row.text for row in shown] == expect["rows"]
        if "cut" in expect:
            assert [bool(row.cut) for row in shown] == expect["cut"]
        page = "".join(row_html(row) for row in shown)
        for text in expect.get("html_must_not_contain", []):
            assert text not in page
        written = b"".join(chunks)
        download = b"".join(reader.raw())
        assert download == written
        if "download_sha256" in expect:
            assert hashlib.sha256(download).hexdigest() == expect["download_sha256"]
        for search in expect.get("search", []):
            check_search(reader, [row.text for row in rows], search)


@of("stream", "chunks")
def test_rows_from_single_bytes(case: dict[str, Any]) -> None:
    single = [bytes([byte]) for chunk in chunks_of(case) for byte in chunk]
    assert [row.text for row in rendered(single)] == case["expect"]["rows"]


@of("chunks")
def test_rows_after_each_chunk(case: dict[str, Any]) -> None:
    renderer = Renderer()
    for number, chunk in enumerate(chunks_of(case)):
        renderer.feed(chunk)
        if (rows := case["expect"].get("after_chunk", {}).get(str(number))) is not None:
            assert [renderer.get(row).text for row in range(renderer.used)] == rows


def check_search(reader: LogReader, rows: list[str], search: dict[str, Any]) -> None:
    """One query both over the archive and over the rows themselves."""
    case = search.get("case", "insensitive")
    if "error" in search:
        with pytest.raises(SearchError) as caught:
            Query(search["query"], search["mode"], case)
        assert caught.value.code == search["error"]
        return
    query = Query(search["query"], search["mode"], case)
    if "any_of" in search:
        begun = time.monotonic()
        assert outcome_of(reader, query, search["max_seconds"] / 2) in search["any_of"]
        assert time.monotonic() - begun < search["max_seconds"]
        return
    result = search_log(reader, query)
    found = [[hit.row + 1, start, end] for hit in result.hits for start, end in hit.spans]
    assert found == search["spans"]
    assert found == [[at + 1, *span] for at, row in enumerate(rows) for span in query.spans(row)]


def outcome_of(reader: LogReader, query: Query, seconds: float) -> str:
    try:
        return "hits" if search_log(reader, query, seconds=seconds).hits else "no_hits"
    except SearchError as error:
        return error.code


def generated(stamped: bool) -> Any:
    """Cases of generated logs: those of plain lines, or those whose lines bring their stamps; the longest only with TRAINUI_LONG=1."""
    long = os.environ.get("TRAINUI_LONG") == "1"
    chosen = [
        case
        for case in CASES
        if case["input"]["kind"] == "generated"
        and (case["input"]["generator"]["name"] in ("stamped", "pods")) == stamped
        and (long or case["expect"]["bytes"] < LONG_BYTES)
    ]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case["id"])


@generated(stamped=False)
def test_generated(case: dict[str, Any], tmp_path: Path) -> None:
    expect = case["expect"]
    with captured(tmp_path / "log", as_served(generate(case))) as reader:
        check_download(reader, expect)
        assert reader.rows == expect["rows"]
        for number, text in expect.get("samples", {}).items():
            assert window([source_of(reader)], int(number) - 1, 1).rows[0].text == text
        if "row_text" in expect:
            assert reader.render(0, 1)[0].row.text == expect["row_text"]
        if "sum" in expect:
            check_pages(reader, expect)
        if "shown_max_chars" in expect:
            check_cut(reader, expect)
        for search in expect.get("search", []):
            query = Query(search["query"], search["mode"], search.get("case", "insensitive"))
            result = search_log(reader, query, seconds=60)
            assert [hit.row + 1 for hit in result.hits] == search["hit_rows"]
    if expect["bytes"] < LONG_BYTES:
        assert sum(1 for _ in rendered(generate(case))) == expect["rows"]


def check_download(reader: LogReader, expect: dict[str, Any]) -> None:
    digest, size, newlines = hashlib.sha256(), 0, 0
    for block in reader.raw():
        digest.update(block)
        size += len(block)
        newlines += block.count(b"\n")
    assert (size, newlines, digest.hexdigest()) == (expect["bytes"], expect["newlines"], expect["sha256"])


def check_pages(reader: LogReader, expect: dict[str, Any]) -> None:
    for limit in expect["page_limits"]:
        if limit == 1:  # as the case says: the first and last 500 are enough
            numbers = [*range(500), *range(expect["rows"] - 500, expect["rows"])]
            assert [window([source_of(reader)], at, 1).rows[0].text for at in numbers] == [
                str(at + 1) for at in numbers
            ]
        else:
            texts = [row.text for row in window_rows(reader, limit)]
            assert (len(texts), sum(map(int, texts))) == (expect["rows"], expect["sum"])
            assert (texts[0], texts[-1]) == (expect["first"], expect["last"])


def check_cut(reader: LogReader, expect: dict[str, Any]) -> None:
    row = window([source_of(reader)], 0, 1).rows[0]
    assert len(row.text) == min(expect["shown_max_chars"], expect["row_chars"])
    assert bool(row.cut) == expect["cut"]
    assert row.length == expect["row_chars"]
    assert row.text.startswith(expect["head"])


@generated(stamped=True)
def test_generated_with_stamps(case: dict[str, Any], tmp_path: Path) -> None:
    if case["input"]["generator"]["name"] == "pods":
        check_many_pods(case, tmp_path)
    else:
        check_one_stamp(case, tmp_path)


def check_one_stamp(case: dict[str, Any], folder: Path) -> None:
    expect = case["expect"]
    with captured(folder / "log", generate(case)) as reader:
        assert len({reader.stamp(line) for line in range(reader.lines)}) == expect["distinct_stamps"]
        for limit in expect["page_limits"][1:]:
            texts = [row.text for row in window_rows(reader, limit)]
            assert texts == [f"line {number}" for number in range(expect["rows"])]
        assert hashlib.sha256(b"".join(reader.stamped())).hexdigest() == expect["sha256"]


def check_many_pods(case: dict[str, Any], folder: Path) -> None:
    expect = case["expect"]
    lines = b"".join(generate(case)).decode().splitlines()
    by_pod: dict[int, list[str]] = {}
    for line in lines:
        by_pod.setdefault(int(line.split(" ")[1]), []).append(line)
    assert len(by_pod) == expect["pods"]
    served = {pod: "".join(f"{line}\n" for line in by_pod[pod]).encode() for pod in sorted(by_pod)}
    readers = [captured(folder / str(pod), [data]) for pod, data in served.items()]
    sources = [source_of(reader, order) for order, reader in enumerate(readers)]
    merged: list[str] = []
    while rows := window(sources, len(merged), 5000).rows:
        merged += [f"{format_stamp(row.stamp)} {row.text}" for row in rows]
    assert merged == lines
    assert merged[:3] == expect["head"]
    assert merged[-1] == expect["last"]
    middle = len(lines) // 2
    assert [row.text for row in window(sources, middle, 3).rows] == [line[31:] for line in lines[middle : middle + 3]]
    for reader in readers:
        reader.close()


@of("cri")
def test_cri(case: dict[str, Any]) -> None:
    for size in (1, 7, 1 << 20):
        data = base64.b64decode(case["input"]["b64"])
        chunks = (data[at : at + size] for at in range(0, len(data), size))
        lines = [
            (format_stamp(line.stamp), line.stream, line.data.decode("utf-8", "replace")) for line in parse_cri(chunks)
        ]
        assert sorted(lines) == sorted(
            (format_stamp(parse_stamp(at)), stream, text) for at, stream, text in case["expect"]["lines"]
        )


@of("merge")
def test_merge(case: dict[str, Any], tmp_path: Path) -> None:
    sources = sorted(case["input"]["sources"], key=lambda source: source["order"])
    stamped = [(s["order"], [(parse_stamp(stamp), text) for stamp, text in s["lines"]]) for s in sources]
    pods = {source["order"]: source["pod"] for source in sources}
    assert [[pods[order], sequence] for order, sequence, _ in merge(stamped)] == case["expect"]["order"]
    served = [["".join(f"{stamp} {text}\n" for stamp, text in source["lines"]).encode()] for source in sources]
    readers = [captured(tmp_path / str(at), stream) for at, stream in enumerate(served)]
    views = [Source(str(at), at, at, sources[at]["pod"], reader) for at, reader in enumerate(readers)]
    for start in range(case["expect"]["row_count"]):
        rows = window(views, start, 100).rows
        places = [[row.source, int(row.id.split(".")[1])] for row in rows]
        assert places == case["expect"]["order"][start:]
    for source in sources:
        if "received" in source:
            pairs = zip((stamp for stamp, _ in source["lines"]), source["received"], strict=True)
            skew = skew_seconds((parse_stamp(stamp), parse_stamp(at)) for stamp, at in pairs)
            wanted = case["expect"]["skew_seconds"].get(source["pod"])
            assert (skew is None) == (wanted is None)
            assert skew is None or abs(skew - wanted) <= case["expect"]["skew_tolerance"]


@of("reconnect")
def test_reconnect(case: dict[str, Any], tmp_path: Path) -> None:
    archive = Archive(tmp_path / "log")
    for connection in case["input"]["connections"]:
        assert archive.position.since_time() == connection["sinceTime"]
        data = base64.b64decode(connection["b64"])
        splitter, resume = Splitter(), Resume(archive.position)
        archive.drop_open()
        for at in range(0, len(data), 5):
            archive.append(resume.filter(splitter.feed(data[at : at + 5])))
        archive.append(resume.filter(splitter.flush()))
        assert not resume.gap
    archive.close()
    with LogReader(tmp_path / "log") as reader:
        lines = [[format_stamp(line.stamp), line.data.decode()] for line in reader.read(0, 100)]
    assert lines == case["expect"]["lines"]


@of("time")
def test_time(case: dict[str, Any]) -> None:
    ns = parse_stamp(case["input"]["ts"])
    assert str(ns) == case["expect"]["epoch_ns"]
    assert local_iso(ns, case["input"]["zone"]) == case["expect"]["local_iso_seconds"]


@of("pods")
def test_availability(case: dict[str, Any], tmp_path: Path) -> None:
    expect, given = case["expect"], case["input"]
    pod = next(iter(given["pods"]), None)
    logs = given.get("captured", [])
    got = availability(pod, [log["attempt"] for log in logs], given["job"]["phase"])
    simple = {"waiting": got.waiting, "code": got.code, "attempts": list(got.attempts), "default_attempt": got.default_attempt,
              "hint_code": got.hint_code, "offer_previous": got.offer_previous, "badge": got.badge,
              "offer_container": got.offer_container, "switch_to": got.switch_to, "ends_stream": got.ends,
              "readable": bool(got.attempts)}  # fmt: skip
    assert {key: simple[key] for key in simple.keys() & expect.keys()} == {
        key: expect[key] for key in simple.keys() & expect.keys()
    }
    for text in expect.get("message_must_mention", []):
        assert text in got.message
    for text in expect.get("hint_must_mention", []):
        assert text in got.hint
    if "rows" in expect:
        texts = list(itertools.chain.from_iterable(log["lines"] for log in logs))
        with captured(tmp_path / "log", as_served(f"{text}\n".encode() for text in texts)) as reader:
            assert [row.text for row in window_rows(reader)] == expect["rows"]
