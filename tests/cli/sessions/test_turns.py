"""`prong turns`."""

from tests.cli.shell import API, PARSER, SNIFFER, WINDOW, Shell


def table(shell: Shell, *words: str) -> list[str]:
    return shell.ok("turns", *words).splitlines()[2:]


def test_number_age_effort_and_prompt(samples: Shell) -> None:
    assert table(samples, API) == [
        (
            "  1  4h ago  1 file  1 cmd            21k  "
            "Add rate limiting to the public API, 60 requests a minute for each key"
        ),
        (
            "  2  4h ago  1 file  1 cmd, 1 failed  35k  "
            "Keep the counters in Redis, so that all workers share them"
        ),
        (
            "  3  4h ago  1 file  1 cmd            48k  "
            "Start a Redis in the tests instead of mocking it"
        ),
        "    -- compacted here",
        "  4  4h ago  1 file                   10k  Document the limit in the README",
    ]


def test_turns_left_behind_are_counted_and_shown_with_all(samples: Shell) -> None:
    assert "1 turn abandoned by rewinds: prong turns 60309e1e --all" in (
        samples.run("turns", "60309e1e").stderr
    )
    result = samples.run("turns", API, "--all")
    assert result.stderr == ""
    *_, title, turn = result.stdout.splitlines()
    assert title == "abandoned by rewinds:"
    assert turn.startswith("@4a960d0d! 4h ago")
    name = turn.split("!")[0]
    assert "Forget Redis" in samples.ok("show", f"{API}{name}")


def test_all_without_any_left_behind_says_nothing_of_it(samples: Shell) -> None:
    assert samples.ok("turns", PARSER, "--all") == samples.ok("turns", PARSER)


def test_a_fork_says_where_it_begins(samples: Shell) -> None:
    assert table(samples, SNIFFER)[1] == f"    -- forked here from codex:{PARSER}"
    assert table(samples, WINDOW)[2] == f"    -- forked here from claude:{API}"


def test_marks_tell_how_a_turn_ended(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("stopped by hand")
    sample.interrupt()
    sample.prompt("went well")
    sample.answer("Done.")
    sample.write(shell.home.claude)
    first, second = table(shell, sample.id)
    assert first.startswith("  1! ")
    assert second.startswith("  2  ")


def test_other_kinds_of_turns_are_named(shell: Shell) -> None:
    sample = shell.session(1)
    sample.entrypoint = "sdk-cli"
    sample.chain("user", message={"role": "user", "content": "from a program"})
    sample.answer("Done.")
    sample.write(shell.home.claude)
    [line] = table(shell, sample.id)
    [turn] = shell.json("turns", sample.id)["turns"]
    assert turn["kind"] == "sdk"
    assert line.endswith("[sdk] from a program")


def test_prompts_typed_meanwhile_are_counted(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample.tools(("Bash", {"command": "ls"}, ""))
    sample.chain("attachment", attachment={"type": "queued_command", "prompt": "and this"})
    sample.answer("Done.")
    sample.write(shell.home.claude)
    [turn] = shell.json("turns", sample.id)["turns"]
    assert turn["queued"] == ["and this"]
    assert table(shell, sample.id)[0].endswith("Hello +1")


def test_lines_that_cannot_be_read_are_counted(shell: Shell) -> None:
    id_ = shell.simple(1)
    [path] = shell.home.claude.rglob(f"{id_}.jsonl")
    path.write_bytes(b"garbage\n" + path.read_bytes() + b'{"half')
    result = shell.run("turns", id_)
    assert result.exit_code == 0
    assert "2 lines could not be read" in result.stderr
    assert [one["offset"] for one in shell.json("turns", id_)["skipped"]] == [
        0,
        path.stat().st_size - len(b'{"half'),
    ]


def test_a_medium_terminal_has_no_effort(samples: Shell) -> None:
    lines = samples.ok("turns", API, COLUMNS="80").splitlines()
    assert (
        lines[2]
        == "  1  4h ago  Add rate limiting to the public API, 60 requests a minute for each…"
    )
