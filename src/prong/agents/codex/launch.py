"""How Codex is started: new, on a thread, and its own fork of a whole thread."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from prong.agents import argv
from prong.agents.argv import Argument, Command, Grammar, flags
from prong.agents.codex.library import default_root
from prong.agents.codex.settings import permissions
from prong.agents.common import is_uuid
from prong.agents.headless import events
from prong.agents.literal import prepared, visible
from prong.agents.shell import Word
from prong.agents.worker_base import Route
from prong.errors import External, Unavailable, Unsupported, UsageError
from prong.model.forks import UNKNOWN_ID, Child, Launch
from prong.model.sessions import Session

_SIGNS = {Route.TYPED: ("!", "/"), Route.ARGUMENT: ("!",), Route.STDIN: ()}


def as_prompt(text: str, route: Route) -> str:
    """The text, changed as little as is needed so that it is a prompt and nothing else."""
    text = prepared(text, route)
    return f" {text}" if visible(text).startswith(_SIGNS[route]) else text


PROGRAM = "codex"
FLAGS = ("resume", "exec", "app-server", "--cd", "--config")
"""What the launches below use, as far as `codex --help` tells."""

COPY_INSTEAD = "leave --method out: prong writes a copy"

# From the help text.
GRAMMAR = Grammar(
    switches=flags(
        """
        --all --approve-for-me --dangerously-bypass-approvals-and-sandbox
        --dangerously-bypass-hook-trust --full-auto -h --help --include-non-interactive --last
        --no-alt-screen --no-daemon --oss --search --strict-config --trust -V --version --worktree
        --yolo
        """
    ),
    one=flags(
        """
        --add-dir -a --ask-for-approval -C --cd -c --config --disable --enable --local-provider
        -m --model -p --profile --remote --remote-auth-token-env -s --sandbox
        """
    ),
    optional=frozenset(),
    many=frozenset({"-i", "--image"}),
)

SESSION_FLAGS = frozenset({"--last", "--all", "--include-non-interactive", "-C", "--cd"})
_SUBCOMMANDS = frozenset({"resume", "fork"})
_HEADLESS = frozenset({"exec", "e", "review"})
_EXEC_FLAGS = flags(
    """
    --add-dir -c --config --disable --enable --local-provider -m --model --oss -p --profile
    """
)
"""What `codex exec` is told of the base command: the model and the settings, no permission."""
_SERVER_FLAGS = flags("-c --config --disable --enable")
"""What `codex app-server` is told of it: it takes nothing else, and fails with a profile."""
_TIMEOUT = 60
_COMPLAINT = 2000


class _Event(msgspec.Struct):
    type: str = ""
    thread_id: str | None = None


def start(
    command: Command, roots: Sequence[Path], child: Child, prompt: str | None = None
) -> Launch:
    """A new thread; Codex chooses its id."""
    words = _rebuilt(command, child.cwd, None, prompt)
    root = child.root or roots[0]
    return argv.launch(words, child.cwd, environment(root), argv.fork_title(child.parent))


def resume(
    command: Command, roots: Sequence[Path], session: Session, cwd: Path, prompt: str | None = None
) -> Launch:
    """The thread itself. It may be one that is yet to be written."""
    root = root_of(session.path, roots)
    made_by_exec_in = root if session.headless else None
    id_ = checked(session.id)
    words = _rebuilt(command, cwd, id_, prompt, made_by_exec_in=made_by_exec_in)
    return argv.launch(words, cwd, environment(root), f"{session.agent}:{session.id[:8]}")


def native_fork(
    command: Command,
    roots: Sequence[Path],
    session: Session,
    child: Child,
    prompt: str | None = None,
) -> Launch:
    """How to run what `fork_natively` has made."""
    root = native_root(session, child, roots)
    checked(session.id)
    id_ = checked(child.id or UNKNOWN_ID)
    words = _rebuilt(command, child.cwd, id_, prompt, made_by_exec_in=root)
    return argv.launch(words, child.cwd, environment(root), argv.fork_title(child.parent))


def fork_natively(command: Command, roots: Sequence[Path], session: Session, child: Child) -> str:
    """Let Codex fork the whole thread, without a prompt and without asking the model. The new id.

    Its terminal UI forks, too, but tells nobody the id.
    """
    import subprocess

    root = native_root(session, child, roots)
    words = exec_argv(command, child.cwd, ["fork", "--json", checked(session.id)])
    try:
        done = subprocess.run(
            words,
            cwd=child.cwd,
            env=argv.clean_environment(environment(root)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except OSError as error:
        raise Unavailable(
            f"{words[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
    except subprocess.TimeoutExpired:
        raise External(f"{words[0]} did not fork within {_TIMEOUT} s", argv=list(words)) from None
    printed = events(done.stdout.split("\n"), _Event)
    started = next((one.thread_id for one in printed if one.type == "thread.started"), None)
    if done.returncode or not started or not is_uuid(started) or started == session.id:
        complaint = (done.stderr.strip().splitlines() or ["no new thread was named"])[-1]
        raise External(
            f"{words[0]} did not fork {session.ref}: {complaint}",
            hint=COPY_INSTEAD,
            argv=list(words),
            status=done.returncode,
            stderr=done.stderr[-_COMPLAINT:],
        )
    return started


def exec_argv(command: Command, cwd: Path, own: Sequence[str]) -> tuple[str, ...]:
    """`codex exec` in a folder, with the model and the settings of the base command."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        where = ["-C", str(cwd), "--skip-git-repo-check"]
        return [Word.of("exec"), *_flags_among(words, _EXEC_FLAGS), *map(Word.of, [*where, *own])]

    return argv.rebuilt(command, PROGRAM, change)


def server_argv(command: Command) -> tuple[str, ...]:
    """`codex app-server`, with the settings of the base command."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return [Word.of("app-server"), *_flags_among(words, _SERVER_FLAGS)]

    return argv.rebuilt(command, PROGRAM, change)


def native_root(session: Session, child: Child, roots: Sequence[Path]) -> Path:
    """The root of a fork by `codex`, which finds a thread in its own root only."""
    root = child.root or root_of(session.path, roots)
    path = session.path
    if not (path.is_relative_to(root) or path.parent.resolve().is_relative_to(root.resolve())):
        raise UsageError(
            f"Codex forks only what lies in {root}, and {session.ref} does not",
            hint=COPY_INSTEAD,
        )
    return root


def root_of(path: Path, roots: Sequence[Path]) -> Path:
    """The root that a rollout lies in; the first one for a file from elsewhere."""
    for root in roots:
        if path.is_relative_to(root):
            return root
    if path.name.startswith("rollout-"):
        for parent in path.absolute().parents:
            if parent.name in ("sessions", "archived_sessions"):
                return parent.parent
    return roots[0]


def environment(root: Path) -> dict[str, str]:
    return argv.root_variable("CODEX_HOME", root, default_root())


def checked(id_: str) -> str:
    """An id that may stand among arguments: a file from elsewhere may have a flag for an id."""
    if id_ != UNKNOWN_ID and not is_uuid(id_):
        raise Unsupported(
            f"{id_!r} is not a Codex thread id: those are UUIDs",
            hint="prong fork writes a copy with an id of its own",
        )
    return id_


def _rebuilt(
    command: Command,
    cwd: Path,
    thread: str | None,
    prompt: str | None,
    *,
    made_by_exec_in: Path | None = None,
) -> tuple[str, ...]:
    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = without_session(arguments(words))
        # First, or `-i FILE...` would take it for another file.
        first = ["resume"] if thread else []
        if made_by_exec_in:
            first += permissions.settings(made_by_exec_in, cwd, profile_of(kept))
        own = ["-C", str(cwd), *([thread] if thread else [])]
        return [*map(Word.of, first), *argv.with_prompt(kept, own, operand(prompt))]

    return argv.rebuilt(command, PROGRAM, change)


def operand(prompt: str | None) -> str | None:
    """The prompt as a word of the command line."""
    return as_prompt(prompt, Route.ARGUMENT) if prompt is not None else None


def without_session(given: Sequence[Argument]) -> list[Argument]:
    return [one for one in given if one.flag not in SESSION_FLAGS]


def _flags_among(words: Sequence[Word], wanted: frozenset[str]) -> list[Word]:
    return [word for one in arguments(words) if one.flag in wanted for word in one.words]


def profile_of(given: Sequence[Argument]) -> str | None:
    for one in given:
        if one.flag in ("-p", "--profile"):
            return one.value
    return None


def arguments(words: Sequence[Word]) -> list[Argument]:
    """The arguments without an old subcommand and the thread that it named."""
    found = list(GRAMMAR.arguments(words))
    ends = [at for at, one in enumerate(found) if one.flag == "--"]
    # Behind `--` stands a prompt, whatever it says.
    operands = [at for at, one in enumerate(found[: ends[0] if ends else None]) if not one.flag]
    name = found[operands[0]].words[0].text if operands else ""
    if name in _HEADLESS:
        raise UsageError(f"the base command must not be codex {name}", hint="agents.codex.command")
    if name in _SUBCOMMANDS:
        # `resume --last` names no thread: what follows is a prompt.
        named = 1 if any(one.flag == "--last" for one in found) else 2
        return [one for at, one in enumerate(found) if at not in operands[:named]]
    return found
