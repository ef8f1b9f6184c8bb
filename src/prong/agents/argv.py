"""Rewrite an agent's start command: the user's base command with different arguments.

The base command is a list of words, or a line for a shell (`cd x && claude --model opus`). Only
the arguments of the agent's own program change; the rest of the line stays as written.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from prong.agents import shell
from prong.agents.shell import BLANK, Run, Word
from prong.errors import UsageError
from prong.model.forks import Launch
from prong.model.record import Record

Command = str | Sequence[str]
Change = Callable[[Sequence[Word]], Sequence[Word]]
"""Maps the old arguments of the agent's program to the new ones."""

LONGEST = 131_071
"""Maximum bytes of one argument on Linux."""

_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_BEFORE_PROGRAM = frozenset(
    {"!", "{", "command", "do", "elif", "else", "env", "exec", "if", "nohup", "then", "time"}
    | {"until", "while"}
)
_HINT = "agents.NAME.command in config.toml names the command"


# -- flags ----------------------------------------------------------------------------------------


def flags(text: str) -> frozenset[str]:
    """Split a table of flags."""
    return frozenset(text.split())


class Argument(Record, frozen=True):
    """A flag with its values, or an operand if `flag` is None."""

    flag: str | None
    words: tuple[Word, ...]

    @property
    def value(self) -> str:
        """The (last) value: VALUE in `--flag VALUE`, `--flag=VALUE` and `-fVALUE`."""
        text = self.words[-1].text
        if len(self.words) > 1 or self.flag is None:
            return text
        return text.removeprefix(self.flag).removeprefix("=")


class Grammar(Record, frozen=True):
    """How many words each flag of a program takes. Other flags count as optional."""

    switches: frozenset[str]
    one: frozenset[str]
    """Take the next word, whatever it looks like."""
    optional: frozenset[str]
    """Take the next word unless it looks like a flag."""
    many: frozenset[str]
    """Take the next word and all after it up to the next flag."""

    def arguments(self, words: Sequence[Word]) -> Iterator[Argument]:
        rest = list(words)
        while rest:
            word = rest.pop(0)
            text = word.text
            if text == "--":
                yield Argument("--", (word,))
                yield from (Argument(None, (operand,)) for operand in rest)
                return
            if not _looks_like_flag(text):
                yield Argument(None, (word,))
            elif text.startswith("--"):
                flag, equals, _ = text.partition("=")
                values = [] if equals else self._values(flag, rest)
                yield Argument(flag, (word, *values))
            elif text[:2] in self.switches and len(text) > 2:
                # Combined short flags: `-pr ID` is `-p -r ID`.
                yield Argument(text[:2], (Word.of(text[:2]),))
                rest.insert(0, Word.of(f"-{text[2:]}"))
            else:
                attached = len(text) > 2
                yield Argument(text[:2], (word, *([] if attached else self._values(text, rest))))

    def _values(self, flag: str, rest: list[Word]) -> list[Word]:
        """Remove the values of a flag from the words that follow it, and return them."""
        if flag in self.switches:
            return []
        count = 0
        if rest and (flag in self.one or flag in self.many or not _looks_like_flag(rest[0].text)):
            count = 1
        while flag in self.many and count < len(rest) and not _looks_like_flag(rest[count].text):
            count += 1
        values = rest[:count]
        del rest[:count]
        return values


def _looks_like_flag(text: str) -> bool:
    return len(text) > 1 and text.startswith("-")


# -- commands -------------------------------------------------------------------------------------


def rebuilt(command: Command, program: str, change: Change) -> tuple[str, ...]:
    """Apply a change to the arguments of `program` in the base command."""
    runs = _runs(command)
    index, words = _changed(runs, program, change)
    if not isinstance(command, str) or shell.is_plain(runs):
        return tuple(word.text for word in words)
    return ("sh", "-c", _line(runs, index, words))


def _runs(command: Command) -> list[Run]:
    if isinstance(command, str):
        return shell.runs(command)
    return [Run("", tuple(map(Word.of, command)))]


def arguments_of(command: Command, program: str) -> list[Word]:
    """Return the arguments of `program` in the base command."""
    given: list[Word] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        given.extend(words)
        return words

    rebuilt(command, program, look)
    return given


def executable(command: Command, program: str) -> str:
    """Return the word of the base command that names the agent's program: a name or a path."""
    runs = [run.words for run in _runs(command)]
    place = _place(runs, program)
    text = runs[place.run][place.at].text
    return executable(text, program) if place.is_script else text


def _line(runs: Sequence[Run], index: int, words: Sequence[Word]) -> str:
    run = runs[index]
    first = next(number for number, piece in enumerate(run.pieces) if isinstance(piece, Word))
    last = run.pieces[-1]
    pieces = [
        *(str(piece) for piece in run.pieces[:first]),
        " ".join(word.raw for word in words),
        # Redirections and a comment work after the words too.
        *(f" {part}" for part in run.pieces[first:] if isinstance(part, str) and part.strip(BLANK)),
        last if isinstance(last, str) and not last.strip(BLANK) else "",
    ]
    changed = Run(run.operator, tuple(pieces))
    return "".join(str(part) for part in [*runs[:index], changed, *runs[index + 1 :]])


def _changed(runs: Sequence[Run], program: str, change: Change) -> tuple[int, list[Word]]:
    """Return the index of the command that starts the agent, and its new words."""
    place = _place([run.words for run in runs], program)
    words = list(runs[place.run].words)
    if place.is_script:
        script = shell.runs(words[place.at].text)
        words[place.at] = Word.of(_line(script, *_changed(script, program, change)))
    else:
        words[place.at + 1 :] = change(words[place.at + 1 :])
    return place.run, words


class _Place(Record, frozen=True):
    """Position of the agent's program: index of the command, and of the word in it."""

    run: int
    at: int
    is_script: bool = False
    """The word is a shell script that starts the program."""


def _place(runs: Sequence[Sequence[Word]], program: str) -> _Place:
    heads = {run: _head(words) for run, words in enumerate(runs)}
    starts = {run: at for run, at in heads.items() if at is not None and runs[run][at].text != "cd"}
    for run, at in starts.items():
        if _names(runs[run][at], program):
            return _Place(run, at)
    for run, at in starts.items():
        script = _script(runs[run], at)
        if script is not None:
            return _Place(run, script, is_script=True)
    for run, start in starts.items():
        # Started by another program: `timeout 60 claude`, `npx @openai/codex`.
        for at, word in enumerate(runs[run][start + 1 :], start + 1):
            if _names(word, program):
                return _Place(run, at)
    if len(starts) == 1:
        # A wrapper script of the user's that takes the same flags.
        ((run, at),) = starts.items()
        if all(_looks_like_flag(word.text) for word in runs[run][at + 1 : at + 2]):
            return _Place(run, at)
    line = " ".join(word.raw for words in runs for word in words)
    raise UsageError(f"no word of the command starts {program}: {line}", hint=_HINT)


def _head(words: Sequence[Word]) -> int | None:
    """Return the index of the word that a shell would execute."""
    for at, word in enumerate(words):
        if word.text not in _BEFORE_PROGRAM and not shell.is_assignment(word):
            return at
    return None


def _names(word: Word, program: str) -> bool:
    name = os.path.basename(word.text)
    return re.match(rf"{re.escape(program)}(?:[-@.][\w.@-]*)?\Z", name) is not None


def _script(words: Sequence[Word], at: int) -> int | None:
    """Return the index of SCRIPT in `bash -lc SCRIPT`."""
    if os.path.basename(words[at].text) not in _SHELLS:
        return None
    for index in range(at + 1, len(words) - 1):
        if re.fullmatch(r"-[a-z]*c", words[index].text):
            return index + 1
    return None


def extra_flags(
    words: Sequence[str], grammar: Grammar, program: str, own: frozenset[str]
) -> list[Argument]:
    """Parse flags typed for one run. Raises `UsageError` for operands and prong's own flags."""
    arguments = list(grammar.arguments([Word.of(word) for word in words]))
    for argument in arguments:
        if argument.flag is None:
            message = f"{argument.value!r} is not a flag of {program}; put the prompt before --"
            raise UsageError(message, hint="prong run PROMPT -- FLAGS")
        if argument.flag in own:
            message = f"{argument.flag} is set by prong"
            raise UsageError(message, hint="use --id, --resume, --fork, --continue or --headless")
    return [argument for argument in arguments if argument.flag != "--"]


# -- launches -------------------------------------------------------------------------------------


def with_prompt(
    arguments: Sequence[Argument], own: Sequence[str], prompt: str | None
) -> Sequence[Word]:
    """Join the user's flags, our own, and the prompt: ours, or else the one in the command.

    It follows `--`, so that it may begin like a flag.
    """
    flags = [word for arg in arguments if arg.flag not in (None, "--") for word in arg.words]
    operands = [word for arg in arguments if arg.flag is None for word in arg.words]
    tail = operands if prompt is None else [Word.of(prompt)]
    return [*flags, *map(Word.of, own), *([Word.of("--"), *tail] if tail else [])]


def launch(argv: Sequence[str], cwd: Path, env: Mapping[str, str], title: str) -> Launch:
    """Build a launch. Raises `UsageError` when the system cannot pass an argument."""
    for word in argv:
        try:
            size = len(os.fsencode(word))
        except UnicodeEncodeError:
            raise UsageError("the prompt has half a character in it", hint="take it out") from None
        if "\0" in word:
            raise UsageError("a prompt cannot have a NUL character", hint="take it out")
        if size > LONGEST:
            raise UsageError(
                f"the prompt is too long for a command line: {size:,} bytes of {LONGEST:,}",
                hint="start without a prompt and paste it, or let the prompt name a file",
                size=size,
            )
    return Launch(tuple(argv), cwd, env, title)


_FOREIGN = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "AI_AGENT"),
    *("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"),
    *("CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT"),
)
"""Set by an agent for programs it starts; another agent would mistake them for its own."""


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for an agent that prong starts."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, **extra}
