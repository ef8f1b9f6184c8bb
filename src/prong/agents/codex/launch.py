"""Build the commands that start Codex: a thread, a native fork, a seed, a worker, one turn."""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from prong.agents import argv
from prong.agents.argv import Argument, Command, Grammar, flags
from prong.agents.codex.output import turn_output
from prong.agents.codex.settings import config_file, trust
from prong.agents.common import is_uuid
from prong.agents.literal import prepared, visible
from prong.agents.shell import Word
from prong.errors import External, Unsupported, UsageError
from prong.model.forks import UNKNOWN_ID, Child
from prong.model.sessions import Session
from prong.model.workers import NewSession, Route, RunOptions

_SIGNS = {Route.TYPED: ("!", "/"), Route.ARGUMENT: ("!",), Route.STDIN: ()}


def as_prompt(text: str, route: Route) -> str:
    """Change text as little as possible so that Codex takes it as a prompt, not as a command."""
    text = prepared(text, route)
    return f" {text}" if visible(text).startswith(_SIGNS[route]) else text


PROGRAM = "codex"
FLAGS = ("resume", "exec", "app-server", "--cd", "--config")
"""The flags that are used below and listed by `codex --help`; a seed also needs `SEED_FLAGS`."""

COPY_INSTEAD = "leave --method out: prong writes a copy"

# From `codex --help`.
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
"""Flags of the base command passed to `codex exec`: model and settings, no permissions."""
_SERVER_FLAGS = flags("-c --config --disable --enable")
"""Flags of the base command passed to `codex app-server`; it fails with a profile."""
_ASKS = "on-request"
"""Codex's default."""
_TRUSTED_SANDBOX = "workspace-write"
"""Codex's default in a trusted folder."""
_DEFAULT_PROVIDER = "openai"
SEED_FLAGS = ("exec", "--sandbox")
SEED_ENVIRONMENT: dict[str, str] = {}
_SEED_SETTINGS = (
    'approval_policy="never"',
    "features.shell_tool=false",
    "features.view_image=false",
    "features.goals=false",
    "features.apps=false",
    "features.hooks=false",
    "notify=[]",
    'web_search="disabled"',
    "tools.experimental_request_user_input.enabled=false",
    # Not `features.multi_agent`, which is stored with the thread and would stay off for good.
    "agents.max_depth=0",
)
"""Settings that disable all tools for this run. Codex ignores unknown names."""
_TIMEOUT = 60
_COMPLAINT = 2000


def start(command: Command, child: Child, prompt: str | None = None) -> tuple[str, ...]:
    """Build the command for a new thread; Codex chooses its id."""
    return _rebuilt(command, child.cwd, None, prompt)


def resume(
    command: Command, root: Path, session: Session, cwd: Path, prompt: str | None = None
) -> tuple[str, ...]:
    """Build the command to resume a thread, which may not be written yet."""
    exec_root = root if session.headless else None
    return _rebuilt(command, cwd, checked(session.id), prompt, exec_root=exec_root)


def native_fork(
    command: Command, root: Path, session: Session, child: Child, prompt: str | None = None
) -> tuple[str, ...]:
    """Build the command to resume the fork that `fork_natively` made."""
    checked(session.id)
    return _rebuilt(command, child.cwd, checked(child.id or UNKNOWN_ID), prompt, exec_root=root)


def fork_natively(command: Command, session: Session, child: Child, env: Mapping[str, str]) -> str:
    """Let Codex fork the whole thread, without calling the model, and return the new id.

    The terminal UI can fork, too, but does not report the id.
    """
    from subprocess import TimeoutExpired

    from prong.agents.run import completed

    words = exec_argv(command, child.cwd, ["fork", "--json", checked(session.id)])
    try:
        process = completed(words, child.cwd, env, _TIMEOUT)
    except TimeoutExpired:
        raise External(f"{words[0]} did not fork within {_TIMEOUT} s", argv=list(words)) from None
    started = turn_output(process.stdout.split("\n")).session_id
    if process.returncode or not started or not is_uuid(started) or started == session.id:
        complaint = (process.stderr.strip().splitlines() or ["no new thread was named"])[-1]
        raise External(
            f"{words[0]} did not fork {session.ref}: {complaint}",
            hint=COPY_INSTEAD,
            argv=list(words),
            status=process.returncode,
            stderr=process.stderr[-_COMPLAINT:],
        )
    return started


def exec_argv(command: Command, cwd: Path, own: Sequence[str]) -> tuple[str, ...]:
    """Build `codex exec` in a folder, with the model and settings of the base command."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        place = ["-C", str(cwd), "--skip-git-repo-check"]
        return [Word.of("exec"), *_flags_among(words, _EXEC_FLAGS), *map(Word.of, [*place, *own])]

    return argv.rebuilt(command, PROGRAM, change)


def server_argv(command: Command) -> tuple[str, ...]:
    """Build `codex app-server`, with the settings of the base command."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return [Word.of("app-server"), *_flags_among(words, _SERVER_FLAGS)]

    return argv.rebuilt(command, PROGRAM, change)


def seed(command: Command, root: Path, child: Child) -> tuple[str, ...]:
    """Send a first prompt on standard input, without tools.

    Measured: up to 1,048,576 characters arrive byte for byte. The thread belongs to `codex exec`,
    so Codex's picker lists it only with `--include-non-interactive`.
    """
    flags = ["--json", "--sandbox", "read-only"]
    for setting in (*_SEED_SETTINGS, *config_file.servers_off(root, child.cwd)):
        flags += ["-c", setting]
    return exec_argv(command, child.cwd, [*flags, "-"])


def root_around(path: Path) -> Path | None:
    """Return the folder that looks like the root of a rollout."""
    folders = path.absolute().parents if path.name.startswith("rollout-") else ()
    names = ("sessions", "archived_sessions")
    return next((folder.parent for folder in folders if folder.name in names), None)


def checked(id_: str) -> str:
    """Check an id for use as an argument: a foreign file may have a flag in its place."""
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
    exec_root: Path | None = None,
) -> tuple[str, ...]:
    """Build the command; `exec_root` is the root of a thread that `codex exec` made."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in arguments(words) if arg.flag not in SESSION_FLAGS]
        # Comes first, or `-i FILE...` would take it as another file.
        prefix = ["resume"] if thread else []
        if exec_root:
            prefix += _permissions(config_file.merged(exec_root, profile_of(kept)), cwd)
        location = ["-C", str(cwd), *([thread] if thread else [])]
        return [*map(Word.of, prefix), *argv.with_prompt(kept, location, operand(prompt))]

    return argv.rebuilt(command, PROGRAM, change)


def _permissions(config: Mapping[str, Any], cwd: Path) -> list[str]:
    """Return the flags that give a thread of `codex exec` the permissions of a new one.

    Codex stores the sandbox and the approval policy with a thread. `codex exec` never asks, and a
    seed is read-only: resumed like that, the agent could do little and not ask for more.
    """
    names = ("approval_policy", "sandbox_mode", "default_permissions")
    policy, sandbox, other = (v if isinstance(v := config.get(n), str) else "" for n in names)
    if not sandbox and not other and trust.is_listed(cwd, config):
        sandbox = _TRUSTED_SANDBOX
    values = {"approval_policy": policy or _ASKS, "sandbox_mode": sandbox}
    return [w for key, v in values.items() if v for w in ("-c", f"{key}={json.dumps(v)}")]


def model_provider(command: Command, root: Path) -> str | None:
    """Return the provider of a new thread; None if Codex would ask for it.

    Codex stores it with the thread and refuses to resume with another. A thread without one opens
    in `codex exec`, but not in the terminal UI of a home where Codex has run before.
    """
    args = arguments(argv.arguments_of(command, PROGRAM))
    config = config_file.merged(root, profile_of(args))
    if any(arg.flag == "--oss" for arg in args):
        local = [arg.value for arg in args if arg.flag == "--local-provider"]
        provider = local[-1] if local else config.get("oss_provider")
        return provider if isinstance(provider, str) else None
    provider = config.get("model_provider")
    for arg in args:
        key, _, value = arg.value.partition("=")
        if arg.flag in ("-c", "--config") and key.strip() == "model_provider":
            provider = _setting(value.strip())
    return provider if isinstance(provider, str) and provider else _DEFAULT_PROVIDER


def _setting(value: str) -> object:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def operand(prompt: str | None) -> str | None:
    """Return the prompt in a form that is safe on the command line."""
    return as_prompt(prompt, Route.ARGUMENT) if prompt is not None else None


def _flags_among(words: Sequence[Word], wanted: frozenset[str]) -> list[Word]:
    return [word for arg in arguments(words) if arg.flag in wanted for word in arg.words]


def profile_of(given: Sequence[Argument]) -> str | None:
    return next((arg.value for arg in given if arg.flag in ("-p", "--profile")), None)


def arguments(words: Sequence[Word]) -> list[Argument]:
    """Parse the arguments, without a subcommand and the thread that it names."""
    parsed = list(GRAMMAR.arguments(words))
    dashes = [i for i, arg in enumerate(parsed) if arg.flag == "--"]
    # Everything after `--` is a prompt.
    operands = [i for i, arg in enumerate(parsed[: dashes[0] if dashes else None]) if not arg.flag]
    name = parsed[operands[0]].words[0].text if operands else ""
    if name in _HEADLESS:
        raise UsageError(f"the base command must not be codex {name}", hint="agents.codex.command")
    if name not in _SUBCOMMANDS:
        return parsed
    # `resume --last` names no thread, so a prompt follows.
    count = 1 if any(arg.flag == "--last" for arg in parsed) else 2
    return [arg for i, arg in enumerate(parsed) if i not in operands[:count]]


# -- workers -------------------------------------------------------------------------------------

_SKIP = "--dangerously-bypass-approvals-and-sandbox"
_ASKING = flags("-a --ask-for-approval --approve-for-me --full-auto -s --sandbox --yolo") | {_SKIP}
_MODEL = flags("-m --model")
_NO_DAEMON = "features.daemon_auto_start=false"
"""Without it, a daemon would hold the thread open and outlive the worker."""
_HEADLESS_FLAGS = flags(
    """
    --add-dir --approve-for-me -c --config --dangerously-bypass-hook-trust --disable --enable -i
    --image --local-provider -m --model --oss -p --profile -s --sandbox --strict-config
    """
) | {_SKIP}
"""Flags of the terminal UI that `codex exec` accepts."""
_SYSTEM = Path("/etc/codex/config.toml")


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """Add the options to the base command, and remove its prompt and whatever names a thread.

    The command also tells Codex to start no daemon.
    """
    if options.settings:
        raise Unsupported(
            "Codex takes no settings file for one run",
            hint="prong run ... -- --profile NAME, or -- -c KEY=VALUE",
        )
    if options.plugin_dirs:
        raise Unsupported("Codex takes no plug-in folder for one run", hint="codex plugin add")
    extra = argv.extra_flags(options.extra, GRAMMAR, PROGRAM, SESSION_FLAGS)
    own_flags: list[str] = []
    replaced: set[str | None] = set()
    if options.model:
        own_flags += ["--model", options.model]
        replaced |= _MODEL
    if options.skip_permissions:
        own_flags.append(_SKIP)
        replaced |= _ASKING

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in _flags(words) if arg.flag not in replaced]
        settings = [arg.value.replace(" ", "") for arg in kept if arg.flag in ("-c", "--config")]
        no_daemon = [] if _NO_DAEMON in settings else ["-c", _NO_DAEMON]
        base, added = ([word for arg in args for word in arg.words] for args in (kept, extra))
        return [*base, *map(Word.of, [*no_daemon, *own_flags]), *added]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """Return the id of the thread that a command resumes, if it gives one."""
    args = list(GRAMMAR.arguments(argv.arguments_of(command, PROGRAM)))
    options = takewhile(lambda arg: arg.flag != "--", args)
    operands = [arg.value for arg in options if arg.flag is None]
    if operands[:1] != ["resume"] or any(arg.flag == "--last" for arg in args):
        return None
    return next((id_.lower() for id_ in operands[1:2] if is_uuid(id_)), None)


def begin(command: Command, new: NewSession, prompt: str | None = None) -> tuple[str, ...]:
    """Build the command for a new thread; Codex chooses its id."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return argv.with_prompt(_flags(words), ["-C", str(new.cwd)], operand(prompt))

    return argv.rebuilt(command, PROGRAM, change)


def one_turn(command: Command, session: NewSession, *, resume: bool) -> tuple[str, ...]:
    """Build the `codex exec` command for a turn: prompt on standard input, events as output."""
    if resume and session.id is None:
        raise UsageError("a turn of a thread needs the id of the thread")

    def change(words: Sequence[Word]) -> Sequence[Word]:
        flag_words = [word for arg in _flags(words) for word in _for_exec(arg)]
        own_words = ["--json", "--skip-git-repo-check", "-C", str(session.cwd)]
        own_words += ["resume", checked(session.id)] if resume and session.id else []
        return [Word.of("exec"), *flag_words, *map(Word.of, [*own_words, "-"])]

    return argv.rebuilt(command, PROGRAM, change)


def _flags(words: Sequence[Word]) -> list[Argument]:
    return [arg for arg in arguments(words) if arg.flag not in {None, "--", *SESSION_FLAGS}]


def _for_exec(arg: Argument) -> Sequence[Word]:
    if arg.flag in _HEADLESS_FLAGS:
        return arg.words
    if arg.flag in ("-a", "--ask-for-approval"):
        return [Word.of("-c"), Word.of(f"approval_policy={json.dumps(arg.value)}")]
    return [Word.of(_SKIP)] if arg.flag == "--yolo" else []


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """List the settings files of the machine, the user, the command's profile and the project.

    Codex reads a project's settings in all folders from the repository root down.
    """
    profile = profile_of(_flags(argv.arguments_of(command, PROGRAM)))
    current = Path(os.path.realpath(folder))
    project_folders = [current]
    for parent in current.parents:
        if (project_folders[-1] / ".git").exists():
            break
        project_folders.append(parent)
    else:
        project_folders = [current]
    projects = [path / ".codex" / "config.toml" for path in reversed(project_folders)]
    profiles = [root / f"{profile}.config.toml"] if profile else []
    return [_SYSTEM, root / "config.toml", *profiles, *projects]
