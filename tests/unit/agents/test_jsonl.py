import io
import os
from pathlib import Path

import msgspec
import pytest
import zstandard

from prong.agents import jsonl


class Inner(msgspec.Struct):
    name: str = ""
    count: int | None = None


class Strict(msgspec.Struct):
    needed: int


class Record(msgspec.Struct):
    type: str = ""
    text: str | None = None
    number: int | None = None
    inner: Inner | None = None
    strict: Strict | None = None
    many: list[Inner] = []
    words: list[str] | None = None
    raw: msgspec.Raw = msgspec.Raw(b"")


def read(data: bytes, *, start: int = 0) -> tuple[list[Record], jsonl.Reader[Record]]:
    reader = jsonl.Reader(Record)
    return [record for _, _, record in reader.records(io.BytesIO(data), start=start)], reader


def types(data: bytes) -> tuple[list[str], list[tuple[int, str]]]:
    records, reader = read(data)
    return [record.type for record in records], [(bad.offset, bad.reason) for bad in reader.bad]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0b", "\x0c", "\r"])
def test_only_the_newline_byte_ends_a_line(odd: str) -> None:
    records, reader = read(f'{{"type":"a","text":"one{odd}two"}}\n{{"type":"b"}}\n'.encode())
    assert [record.text for record in records] == [f"one{odd}two", None]
    assert reader.bad == []


def test_windows_line_ends() -> None:
    assert types(b'{"type":"a"}\r\n\r\n{"type":"b"}\r\n') == (["a", "b"], [])


def test_blank_lines_are_nothing() -> None:
    assert types(b'\n \t\n{"type":"a"}\n\n') == (["a"], [])


def test_a_last_line_without_its_end_counts() -> None:
    assert types(b'{"type":"a"}\n{"type":"b"}') == (["a", "b"], [])


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_half_a_last_line_is_reported_and_skipped(end: bytes) -> None:
    reason = "not a JSON object" if end else "unfinished last line"
    assert types(b'{"type":"a"}\n{"type":"b","te' + end) == (["a"], [(13, reason)])


@pytest.mark.parametrize("between", [b"", b" ", b",", b" , "])
def test_two_objects_on_one_line_are_two_records(between: bytes) -> None:
    data = b'{"type":"a"}' + between + b'{"type":"b"}\n{"type":"c"}\n'
    assert types(data) == (["a", "b", "c"], [])


def test_each_object_of_a_line_has_its_own_place() -> None:
    data = '{"type":"é"}{"type":"b"}\n'.encode()
    reader = jsonl.Reader(Record)
    found = list(reader.records(io.BytesIO(data)))
    assert [data[at : at + len(piece)] for at, piece, _ in found] == [
        piece for _, piece, _ in found
    ]
    assert [piece for _, piece, _ in found] == ['{"type":"é"}'.encode(), b'{"type":"b"}']


@pytest.mark.parametrize(
    "garbage",
    [b"garbage", b"[1,2]", b"3", b'"text"', b"null", b"}", b",", b"\x00\x00\x00", b"\xff"],
)
def test_what_is_no_object_is_reported_with_its_offset(garbage: bytes) -> None:
    data = b'{"type":"a"}\n' + garbage + b'\n{"type":"b"}\n'
    assert types(data) == (["a", "b"], [(13, "not a JSON object")])


def test_garbage_before_an_object_does_not_cost_the_object() -> None:
    assert types(b'\x00\x00{"type":"a"}\n') == (["a"], [(0, "not a JSON object")])


def test_byte_order_mark() -> None:
    assert types(b'\xef\xbb\xbf{"type":"a"}\n{"type":"b"}\n') == (["a", "b"], [])


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (b"caf\xe9", "caf\ufffd"),
        (b"\\ud800", "\ufffd"),
        (b"\\udc00!", "\ufffd!"),
        (b"nul\x00tab\t", "nul\x00tab\t"),
    ],
)
def test_a_wrong_byte_does_not_cost_the_line(written: bytes, read_as: str) -> None:
    records, reader = read(b'{"type":"a","text":"' + written + b'","number":1}\n')
    assert [(record.type, record.text, record.number) for record in records] == [("a", read_as, 1)]
    assert reader.bad == []


@pytest.mark.parametrize("odd", [b"NaN", b"Infinity", b"-Infinity"])
def test_not_a_number_is_null(odd: bytes) -> None:
    (record,), reader = read(b'{"type":"a","raw":{"x":' + odd + b',"y":1},"number":2}\n')
    assert (record.number, msgspec.json.decode(record.raw)) == (2, {"x": None, "y": 1})
    assert reader.bad == []


@pytest.mark.parametrize("before", [b'{"raw":', b'{"unknown":', b"", b'{"many":[{"name":'])
def test_deep_nesting_is_skipped_without_a_crash(before: bytes) -> None:
    deep = before + b"[" * 100_000 + b"]" * 100_000
    assert types(b'{"type":"a"}\n' + deep + b'\n{"type":"b"}\n')[0] == ["a", "b"]
    assert types(b'{"a":' * 100_000)[0] == []


def test_what_has_the_wrong_type_is_left_out_and_the_rest_kept() -> None:
    (record,), reader = read(
        b'{"type":"a","text":5,"number":"x","inner":{"name":"n","count":"many"},'
        b'"many":[{"name":"m"},7,{"count":2}],"words":["w",1],"raw":[1]}\n'
    )
    assert (record.type, record.text, record.number) == ("a", None, None)
    assert record.inner == Inner("n")
    assert record.many == [Inner("m"), Inner("", 2)]
    assert record.words == ["w"]
    assert bytes(record.raw) == b"[1]"
    assert reader.bad == []


@pytest.mark.parametrize("wrong", [b"{}", b'{"needed":"x"}', b"[]", b'{"needed":null}'])
def test_an_inner_object_without_what_it_needs_is_left_out(wrong: bytes) -> None:
    (record,), _ = read(b'{"type":"a","strict":' + wrong + b',"number":1}\n')
    assert (record.type, record.strict, record.number) == ("a", None, 1)


@pytest.mark.parametrize("wrong", [b"[]", b"7", b'"x"', b"true", b"{}"])
def test_a_type_that_is_no_text(wrong: bytes) -> None:
    (record,), _ = read(b'{"type":' + wrong + b',"number":1}\n')
    assert record.number == 1


def test_a_huge_line() -> None:
    text = b"x" * (30 << 20)
    data = b'{"type":"a","text":"' + text + b'"}\n{"type":"b"}\n'
    records, reader = read(data)
    assert [len(record.text or "") for record in records] == [30 << 20, 0]
    assert reader.end == len(data)


def test_numbers_beyond_all_bounds() -> None:
    (record,), _ = read(b'{"type":"a","number":' + b"9" * 400 + b"}\n")
    assert record.type == "a"
    assert types(b'{"type":"a","number":' + b"9" * 5000 + b'}\n{"type":"b"}\n')[0] == ["b"]


def test_a_file_that_grows_is_read_to_the_size_it_had(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":"b"}\n')
    reader = jsonl.Reader(Record)
    with jsonl.open_file(path) as file:
        found: list[str] = []
        for _, _, record in reader.records(file):
            found.append(record.type)
            with path.open("ab") as more:
                more.write(b'{"type":"new"}\n')
                os.fsync(more.fileno())
    assert found == ["a", "b"]
    assert reader.end == 26


def test_a_line_that_is_longer_than_the_file_was(tmp_path: Path) -> None:
    data = b'{"type":"a"}\n{"type":"b"}\n'
    reader = jsonl.Reader(Record)
    found = [record.type for _, _, record in reader.records(io.BytesIO(data), stop=20)]
    assert found == ["a"]
    assert [bad.reason for bad in reader.bad] == ["unfinished last line"]
    assert reader.end == 13


@pytest.mark.parametrize("cut", range(40))
def test_reading_on_gives_every_record_once(cut: int) -> None:
    data = b'{"type":"a"}\n{"type":"b"}{"type":"c"}\n'
    first, reader = read(data[:cut])
    rest, _ = read(data, start=reader.end)
    assert [record.type for record in (*first, *rest)] == ["a", "b", "c"]


def test_compressed_files_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(zstandard.compress(b'{"type":"a"}\n'))
    with jsonl.open_file(path) as file:
        assert file.read() == b'{"type":"a"}\n'


def test_an_archive_of_several_frames(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(b"".join(zstandard.compress(b'{"type":"%d"}\n' % n) for n in range(3)))
    with jsonl.open_file(path) as file:
        assert file.read() == b'{"type":"0"}\n{"type":"1"}\n{"type":"2"}\n'


def test_half_an_archive_gives_what_was_packed_before_the_break(tmp_path: Path) -> None:
    plain = b"".join(b'{"type":"%s"}\n' % os.urandom(40).hex().encode() for _ in range(20_000))
    packed = zstandard.compress(plain)
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(packed[: len(packed) // 2])
    with jsonl.open_file(path) as file:
        begun = file.read()
    assert begun
    assert plain.startswith(begun)


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl.zst"
    path.write_bytes(b"this is not zstd at all")
    with pytest.raises(OSError, match="cannot unpack"):
        jsonl.open_file(path)


def test_a_place_whose_bytes_have_changed_gives_nothing() -> None:
    file = io.BytesIO(b'{"type":"a"}\nno object here\n[1]')
    assert jsonl.read_at(file, jsonl.Location(0, 13)) == {"type": "a"}
    assert jsonl.read_at(file, jsonl.Location(13, 14)) is None
    assert jsonl.read_at(file, jsonl.Location(28, 3)) is None
    assert jsonl.read_at(file, jsonl.Location(500, 3)) is None


@pytest.mark.parametrize("wrong", [b"caf\xe9", b"\\udce9"])
def test_a_line_with_a_wrong_byte_is_read_as_text_that_can_be_printed(wrong: bytes) -> None:
    data = b'{"text":"' + wrong + b'"}\n'
    line = jsonl.read_at(io.BytesIO(data), jsonl.Location(0, len(data)))
    assert line is not None
    assert line["text"].endswith("\ufffd")


class Part(msgspec.Struct):
    name: str = ""


class Whole(msgspec.Struct):
    parts: list[Part] = []
    either: Part | list[Part] | None = None


def test_an_object_where_a_list_is_wanted_is_not_taken_for_an_element() -> None:
    whole = jsonl.salvage(Whole, {"parts": {"name": "a"}, "either": {"name": "b"}})
    assert whole == Whole(parts=[], either=Part("b"))
    whole = jsonl.salvage(Whole, {"parts": [{"name": "a"}, 5], "either": [{"name": "b"}, "x"]})
    assert whole == Whole(parts=[Part("a")], either=[Part("b")])
