import io

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from prong.agents import jsonl
from tests.property.claude_sessions import Story, stories_with_last_prompts
from tests.property.damage import Damage, apply, damages, examples
from tests.unit.agents.stores import as_bytes


class Record(msgspec.Struct):
    type: str = ""
    uuid: str | None = None
    number: int | None = None
    flag: bool = False
    message: msgspec.Raw = msgspec.Raw(b"")
    names: list[str] = []


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_objects = st.dictionaries(
    st.sampled_from(["type", "uuid", "number", "flag", "message", "names", "other"]), _json
)


def read(data: bytes) -> tuple[list[tuple[int, bytes, Record]], jsonl.Reader[Record]]:
    reader = jsonl.Reader(Record)
    return list(reader.records(io.BytesIO(data))), reader


def check_accounts(data: bytes) -> None:
    """Every line that is not blank gave a record or is reported as bad."""
    records, reader = read(data)
    offsets = sorted([at for at, _, _ in records] + [bad.offset for bad in reader.bad])
    start = 0
    for line in data.split(b"\n"):
        end = start + len(line) + 1
        if line.strip(b" \t\r"):
            assert any(start <= offset < end for offset in offsets), line
        start = end
    for at, piece, _ in records:
        assert data[at : at + len(piece)] == piece


@given(stories_with_last_prompts(), damages)
@examples(200)
def test_every_line_is_accounted_for(story: Story, harm: list[Damage]) -> None:
    check_accounts(apply(harm, as_bytes(story.sample.lines)))


@given(st.binary(max_size=200))
@examples(300)
def test_bytes_that_are_no_session(data: bytes) -> None:
    check_accounts(data)


@given(st.lists(_objects, max_size=5))
@examples(200)
def test_objects_of_any_shape_are_records(lines: list[dict[str, object]]) -> None:
    data = as_bytes(lines)
    records, reader = read(data)
    assert len(records) == len(lines)
    assert (reader.bad, reader.end) == ([], len(data))
    for (_, _, record), line in zip(records, lines, strict=True):
        if isinstance(line.get("type"), str):
            assert record.type == line["type"]


@given(stories_with_last_prompts(), damages, st.floats(0, 1))
@examples(200)
def test_reading_on_is_like_reading_at_once(story: Story, harm: list[Damage], where: float) -> None:
    data = apply(harm, as_bytes(story.sample.lines))
    at_once = [piece.strip() for _, piece, _ in read(data)[0]]
    reader = jsonl.Reader(Record)
    half = data[: round(where * len(data))]
    first = [piece.strip() for _, piece, _ in reader.records(io.BytesIO(half))]
    rest = jsonl.Reader(Record).records(io.BytesIO(data), start=reader.end)
    assert [*first, *(piece.strip() for _, piece, _ in rest)] == at_once
