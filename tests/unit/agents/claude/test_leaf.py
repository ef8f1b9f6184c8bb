"""Which leaf a resume takes: the rule that 22 hand-made trees showed with the real CLI."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from prong.agents.claude.transcript import ZERO
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, uuid

ID = uuid(1)


def tree(claude: Claude) -> tuple[ClaudeSample, dict[str, str]]:
    """One, then two and three; and `other`, which hangs off one beside two and stands first."""
    sample = claude.new()
    leaf: dict[str, str] = {}
    sample.prompt("one")
    leaf["one"] = sample.answer("1")
    sample.prompt("other")
    leaf["other"] = sample.answer("o")
    sample.prompt("other child")
    leaf["other child"] = sample.answer("oc")
    sample.leaf = leaf["one"]
    sample.prompt("two")
    leaf["two"] = sample.answer("2")
    sample.prompt("three")
    leaf["three"] = sample.answer("3")
    leaf["zero"] = ZERO
    leaf["unknown"] = uuid(99)
    return sample, leaf


TIP = ["one", "two", "three"]


@pytest.mark.parametrize(
    ("named", "explicit", "prompts"),
    [
        (None, False, TIP),
        (None, True, TIP),
        ("zero", False, TIP),
        ("zero", True, TIP),
        ("unknown", False, TIP),
        ("unknown", True, TIP),
        ("three", False, TIP),
        ("three", True, TIP),
        ("two", False, TIP),
        ("two", True, ["one", "two"]),
        ("one", False, TIP),
        ("one", True, ["one"]),
        ("other child", False, ["one", "other", "other child"]),
        ("other child", True, ["one", "other", "other child"]),
        ("other", False, ["one", "other"]),
        ("other", True, ["one", "other"]),
    ],
)
def test_last_prompt_at_the_end(
    claude: Claude, named: str | None, explicit: bool, prompts: list[str]
) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf[named] if named else None, explicit=explicit)
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == prompts


@pytest.mark.parametrize(
    ("named", "explicit", "prompts"),
    [
        ("zero", True, [*TIP, "four"]),
        ("two", False, [*TIP, "four"]),
        ("two", True, [*TIP, "four"]),
        ("other", False, ["one", "other"]),
        ("other", True, ["one", "other"]),
    ],
)
def test_last_prompt_with_lines_behind_it(
    claude: Claude, named: str, explicit: bool, prompts: list[str]
) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf[named], explicit=explicit)
    sample.prompt("four")
    sample.answer("4")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == prompts


def test_without_a_last_prompt_the_tip_counts(claude: Claude) -> None:
    sample, _ = tree(claude)
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP
    assert claude.abandoned(ID) == ["other", "other child"]


def test_only_the_last_of_several_counts(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf["other"])
    sample.side("last-prompt", leafUuid=leaf["one"], explicit=True)
    sample.side("last-prompt", leafUuid=leaf["three"])
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_a_sidechain_at_the_end_does_not_move_the_tip(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.leaf = leaf["one"]
    sample.chain("user", message={"role": "user", "content": "sub-agent"})
    sample.lines[-1]["isSidechain"] = True
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_a_last_prompt_that_names_a_sidechain_is_unknown(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.leaf = leaf["one"]
    side = sample.chain("user", message={"role": "user", "content": "sub-agent"})
    sample.lines[-1]["isSidechain"] = True
    sample.side("last-prompt", leafUuid=side, explicit=True)
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_a_stray_attachment_on_an_early_line_cuts_the_history_there(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.leaf = leaf["one"]
    sample.chain("attachment", attachment={"type": "date"})
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["one"]


def test_times_do_not_matter(claude: Claude) -> None:
    sample, _ = tree(claude)
    for number, line in enumerate(sample.lines):
        line["timestamp"] = f"2026-01-01T00:00:{59 - number:02}.000Z"
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_lines_written_twice_are_harmless(claude: Claude) -> None:
    sample, _ = tree(claude)
    claude.write(ID, [line for line in sample.lines for _ in range(2)])
    assert claude.prompts(ID) == TIP
    assert claude.session(ID).turn_count == 3


@pytest.mark.parametrize(
    ("named", "prompts"),
    [("zero", ["one"]), ("unknown", ["one"]), ("two", ["one", "two"]), ("three", TIP)],
)
def test_a_line_written_again_at_the_end_is_the_tip(
    claude: Claude, named: str, prompts: list[str]
) -> None:
    """Seen with the real CLI, also where the `last-prompt` line stands before it."""
    sample, leaf = tree(claude)
    again = next(line for line in sample.lines if line.get("uuid") == leaf["one"])
    sample.side("last-prompt", leafUuid=leaf[named])
    sample.lines.append(again)
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == prompts


def test_what_hangs_below_a_line_written_again_at_the_end(claude: Claude) -> None:
    """Behind a break that five seconds do not bridge, the rest is another conversation."""
    sample = without_two(claude, 3600)
    sample.lines.append(sample.lines[opener(sample, "one")])
    claude.write(ID, sample.lines)
    assert "three" not in claude.prompts(ID)


@pytest.mark.parametrize("before", ["\0\0", ",", '{"type":"summary"}', "{}"])
def test_a_prompt_that_does_not_begin_its_line_is_not_read(claude: Claude, before: str) -> None:
    """Seen with the real CLI: only the first object of a line counts, if nothing is before it."""
    sample, _ = tree(claude)
    number = opener(sample, "two")
    path = claude.write(ID, sample.lines)
    written = path.read_text().split("\n")
    path.write_text(
        "\n".join([*written[:number], before + written[number], *written[number + 1 :]])
    )
    assert "two" not in claude.prompts(ID)
    assert "three" in claude.prompts(ID)


def test_an_object_behind_a_line_does_not_cost_the_line(claude: Claude) -> None:
    sample, _ = tree(claude)
    path = claude.write(ID, sample.lines)
    path.write_text(path.read_text().replace("}\n", '}{"type":"summary"}\n'))
    assert claude.prompts(ID) == TIP


def test_children_may_stand_before_their_parents(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf["three"])
    claude.write(ID, sample.lines[::-1])
    assert claude.prompts(ID) == TIP


def test_the_tip_is_what_hangs_below_the_last_line(claude: Claude) -> None:
    sample, _ = tree(claude)
    sample.lines.append(sample.lines.pop(opener(sample, "two")))
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def without_two(claude: Claude, seconds: float) -> ClaudeSample:
    """The tree without the line that `three` hangs to; `three` comes so long after the rest."""
    sample, _ = tree(claude)
    number = opener(sample, "three")
    lost = sample.lines[number]["parentUuid"]
    last = max(line["timestamp"] for line in sample.lines[:number] if line["uuid"] != lost)
    time = datetime.fromisoformat(last) + timedelta(seconds=seconds)
    for line in sample.lines[number:]:
        line["timestamp"] = time.isoformat()
    sample.lines = [line for line in sample.lines if line["uuid"] != lost]
    return sample


def opener(sample: ClaudeSample, prompt: str) -> int:
    found = (line.get("message", {}).get("content") == prompt for line in sample.lines)
    return list(found).index(True)


def test_a_missing_parent_is_the_last_line_of_the_five_seconds_before(claude: Claude) -> None:
    claude.write(ID, without_two(claude, 5).lines)
    assert claude.prompts(ID) == TIP


def test_no_line_stands_in_for_a_missing_parent_twice(claude: Claude) -> None:
    """Lines with one time and two missing parents, as old versions copied them on resume.

    Seen with the real CLI: the first line stands in for the parent of "three". Its own parent is
    missing too, and "two" is the first one left to stand in for that, though it hangs below.
    """
    sample = claude.new()
    for prompt in ("one", "two", "three"):
        sample.prompt(prompt)
        sample.answer(f"answer to {prompt}")
    spoken = [line for line in sample.lines if "message" in line]
    for parent, line in pairwise(spoken):
        line |= {"parentUuid": parent["uuid"], "timestamp": spoken[0]["timestamp"]}
    _, answer_one, two, _, three, answer_three = spoken
    claude.write(ID, [answer_one, two, three, answer_three])
    assert claude.prompts(ID) == ["two", "three"]


def test_what_stands_long_before_a_missing_parent_is_lost(claude: Claude) -> None:
    claude.write(ID, without_two(claude, 5.001).lines)
    assert claude.prompts(ID) == ["three"]


def test_a_last_prompt_beyond_a_missing_parent_is_the_leaf(claude: Claude) -> None:
    sample = without_two(claude, 5)
    sample.side("last-prompt", leafUuid=sample.lines[opener(sample, "one")]["uuid"])
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["one"]


def test_progress_leads_on_to_the_stand_in_for_a_missing_parent(claude: Claude) -> None:
    sample = without_two(claude, 5)
    sample.leaf = uuid(98)
    sample.chain("progress", data={})
    number = opener(sample, "three")
    sample.lines[number]["parentUuid"] = sample.lines[-1]["uuid"]
    sample.lines.insert(number, sample.lines.pop())
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


@pytest.mark.parametrize("kind", ["progress", "attachment", "system"])
@pytest.mark.parametrize("parent", [None, uuid(98)])
def test_a_stray_line_at_the_end_is_not_the_leaf(
    claude: Claude, kind: str, parent: str | None
) -> None:
    sample, _ = tree(claude)
    sample.leaf = parent
    sample.chain(kind, subtype="informational", attachment={"type": "date"})
    late = datetime.fromisoformat(sample.lines[-1]["timestamp"]) + timedelta(minutes=1)
    sample.lines[-1]["timestamp"] = late.isoformat()
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_progress_that_hangs_to_an_early_line_is_not_the_leaf(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.leaf = leaf["one"]
    sample.chain("progress", data={})
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


@pytest.mark.parametrize(
    ("parent", "before"), [("three", []), ("two", ["one", "other", "other child"])]
)
def test_a_loop_of_parents_ends(claude: Claude, parent: str, before: list[str]) -> None:
    sample, leaf = tree(claude)
    first_of_two = next(
        line for line in sample.lines if line.get("message", {}).get("content") == "two"
    )
    first_of_two["parentUuid"] = leaf[parent]
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == [*before, "two", "three"]
    assert claude.abandoned(ID) == [
        prompt for prompt in ("one", "other", "other child") if prompt not in before
    ]


def test_a_line_that_is_its_own_parent(claude: Claude) -> None:
    sample = claude.new()
    prompt = sample.prompt("alone")
    sample.lines[-1]["parentUuid"] = prompt
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["alone"]


def test_a_rewind_that_is_written_again_without_its_mark_still_holds(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf["two"], explicit=True)
    sample.side("last-prompt", leafUuid=leaf["two"])
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["one", "two"]
    # Another leaf, or a line behind the first of them, is news.
    sample.side("last-prompt", leafUuid=leaf["one"])
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


@pytest.mark.parametrize("named", [0, 1])
def test_the_tip_counts_when_it_continues_below_another_parallel_call(
    claude: Claude, named: int
) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.tools(("Bash", {"command": "a"}, "A"), ("Bash", {"command": "b"}, "B"))
    results = [line["uuid"] for line in sample.lines[-2:]]
    sample.side("last-prompt", leafUuid=results[named])
    sample.leaf = results[1 - named]
    sample.answer("done")
    claude.write(ID, sample.lines)
    assert ("assistant", "done") in claude.said(ID)


def test_a_rewind_to_a_parallel_call_is_not_left_for_the_tip(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.tools(("Bash", {"command": "a"}, "A"), ("Bash", {"command": "b"}, "B"))
    sample.side("last-prompt", leafUuid=sample.lines[-2]["uuid"], explicit=True)
    sample.answer("done")
    claude.write(ID, sample.lines)
    assert ("assistant", "done") not in claude.said(ID)


def test_a_stray_line_with_the_time_of_an_early_one_is_not_the_leaf(claude: Claude) -> None:
    sample, _ = tree(claude)
    sample.leaf = uuid(98)
    sample.chain("attachment", attachment={"type": "date"})
    sample.lines[-1]["timestamp"] = sample.lines[2]["timestamp"]
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == TIP


def test_a_last_prompt_of_an_older_version_names_no_leaf(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf["other"])
    sample.side("last-prompt", lastPrompt="three")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["one", "other"]


def test_a_compaction_makes_the_last_prompt_before_it_void(claude: Claude) -> None:
    sample, leaf = tree(claude)
    sample.side("last-prompt", leafUuid=leaf["other"])
    sample.compact("in short")
    sample.prompt("four")
    sample.answer("4")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == [*TIP, "four"]
