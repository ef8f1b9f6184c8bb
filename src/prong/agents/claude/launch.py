"""Build the commands that start Claude Code: a session, a fork, a seed, a worker, one turn."""

import os
import re
from collections.abc import Container, Sequence
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Command, Grammar, flags
from prong.agents.claude.folders import project_folder
from prong.agents.common import checked_id, is_uuid
from prong.agents.literal import prepared, visible, without_invisible
from prong.agents.shell import Word
from prong.errors import UsageError
from prong.model.forks import Child
from prong.model.sessions import Session
from prong.model.workers import NewSession, Route, RunOptions

_LINE = "Prompt:"
_ENDS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
_MENTION = re.compile(r"""(^|[\s\u3002\u3001\uff1f\uff01])@(?=["\[/\\~]|[^\s]*(?:\.\.|:))""")
"""A mention that may refer outside the folder: an absolute or quoted path, a server's resource.

Files in the folder may be read without permission, so mentions of those stay as they are.
"""


def as_prompt(text: str, route: Route) -> str:
    """Change the text as little as necessary to make it a prompt, not a command."""
    if route is Route.TYPED:
        # Claude Code would remove these itself, and then wait for another Enter.
        text = without_invisible(text)
    text = _MENTION.sub(r"\1\\@", prepared(text, route))
    seen = visible(text)
    if seen.lstrip().startswith("/") or seen.strip().lower() in _ENDS:
        return f"{_LINE}\n{text}"
    if route is Route.TYPED and seen.startswith("!"):
        return f" {text}"
    return text


PROGRAM = "claude"
FLAGS = ("--resume", "--fork-session", "--session-id", "--name")
"""Flags that the launches of sessions use."""

SEED_FLAGS = (
    *("--print", "--session-id", "--name", "--output-format", "--verbose", "--tools"),
    *("--strict-mcp-config", "--permission-mode", "--system-prompt-snapshot", "--settings"),
)
SEED_ENVIRONMENT = {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
"""Or `@name` in the transcript would attach the current version of any such file."""
PRINTED = ("--output-format", "stream-json", "--verbose")
_KEPT_BY_SEED = flags(
    """
    --add-dir --append-system-prompt --append-system-prompt-file --autocompact --betas --effort
    --fallback-model --model --setting-sources --settings --system-prompt --system-prompt-file
    """
)
"""Flags of the base command to keep: about the model, not permissions, tools and plug-ins."""

# From the help text, plus undocumented flags.
GRAMMAR = Grammar(
    switches=flags(
        """
        --allow-dangerously-skip-permissions --ax-screen-reader --bare --bg --background --brief
        --chrome -c --continue --cowork --dangerously-skip-permissions --debug-to-stderr --desktop
        --disable-slash-commands --exclude-dynamic-system-prompt-sections --fork-session
        --forward-subagent-text -h --help --ide --include-hook-events --include-partial-messages
        --init --init-only --maintenance --mcp-debug --no-chrome --no-session-persistence -p --print
        --replay-user-messages --reply-on-resume --restricted --safe-mode --session-mirror
        --strict-mcp-config --tmux --verbose -v --version
        """
    ),
    one=flags(
        """
        --advisor --agent --agent-color --agent-id --agent-name --agent-type --agents
        --append-subagent-system-prompt --append-subagent-system-prompt-file
        --append-system-prompt --append-system-prompt-file --autocompact --debug-file --effort
        --environment --fallback-model --fast-mode --input-format --json-schema --managed-settings
        --max-budget-usd --max-thinking-tokens --max-turns --model -n --name --output-format
        --parent-session-id --permission-mode --permission-prompt-tool --permission-prompts
        --plan-mode-instructions --plugin-dir --plugin-dir-no-mcp --plugin-url --prefill
        --proactivity --project-config-root --remote-control-session-name-prefix
        --resume-drops-turn --resume-session-at --rewind-files --sdk-url --session-began-as-copy
        --session-id --setting-sources --settings --system-prompt --system-prompt-file
        --system-prompt-snapshot --task-budget --team-name --teammate-mode --thinking
        --thinking-display --workload
        """
    ),
    optional=flags(
        """
        --cloud -d --debug --from-pr --prompt-suggestions --rc --remote --remote-control -r
        --resume --teleport -w --worktree
        """
    ),
    many=flags(
        """
        --add-dir --allowedTools --allowed-tools --betas --channels
        --dangerously-load-development-channels --disallowedTools --disallowed-tools --file
        --mcp-config --tools
        """
    ),
)

SESSION_FLAGS = flags(
    """
    -r --resume -c --continue --session-id --fork-session --resume-session-at --resume-drops-turn
    --from-pr --teleport --rewind-files --reply-on-resume --session-began-as-copy
    """
)
"""Flags that select the session to open."""

_NAME_FLAGS = flags("-n --name")


def start(command: Command, child: Child, prompt: str | None = None) -> tuple[str, ...]:
    return rebuilt(command, identity(child.id, child.title), prompt)


def resume(
    command: Command, root: Path, session: Session, cwd: Path, prompt: str | None = None
) -> tuple[str, ...]:
    """Resume a session, which may not be written yet."""
    return rebuilt(command, ["--resume", _handle(session, root, cwd)], prompt)


def native_fork(
    command: Command, root: Path, session: Session, child: Child, prompt: str | None = None
) -> tuple[str, ...]:
    """Fork the whole session by Claude Code itself, which writes the file on the first prompt."""
    own = ["--resume", _handle(session, root, child.cwd), "--fork-session"]
    return rebuilt(command, [*own, *identity(child.id, child.title)], prompt)


def seed(command: Command, _root: Path, child: Child) -> tuple[str, ...]:
    """Send a first prompt on standard input, without tools.

    Measured: a prompt of any length arrives, stripped of surrounding space. The session is one of
    `claude -p`, so Claude Code's picker does not list it, but its id opens it.
    """
    own = ["--print", *identity(child.id, child.title), *PRINTED]
    own += ["--tools", "", "--strict-mcp-config", "--permission-mode", "dontAsk"]
    # Otherwise later runs would keep this run's system prompt, which has no tools.
    own += ["--system-prompt-snapshot", "off"]

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [argument for argument in GRAMMAR.arguments(words) if argument.flag in _KEPT_BY_SEED]
        # Hooks may run anything, and a Stop hook may make the model continue. Only one
        # `--settings` is possible, and the program may depend on the user's.
        has_settings = any(argument.flag == "--settings" for argument in kept)
        quiet = [] if has_settings else ["--settings", '{"disableAllHooks":true}']
        return argv.with_prompt(kept, [*own, *quiet], None)

    return argv.rebuilt(command, PROGRAM, change)


def identity(id_: str | None, title: str | None) -> list[str]:
    """Return the flags that give a new session its id and name."""
    return [*(["--session-id", id_] if id_ else []), *(["--name", title] if title else [])]


def rebuilt(
    command: Command,
    own: Sequence[str],
    prompt: str | None = None,
    *,
    dropped: Container[str | None] = (),
) -> tuple[str, ...]:
    """Open another session, or the same one in another way, with the flags of the base command.

    Besides those that select a session, some are `dropped`.
    """

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in GRAMMAR.arguments(words) if arg.flag not in SESSION_FLAGS]
        if "--name" in own:
            kept = [arg for arg in kept if arg.flag not in _NAME_FLAGS]
        kept = [arg for arg in kept if arg.flag not in dropped]
        return argv.with_prompt(kept, own, _operand(prompt))

    return argv.rebuilt(command, PROGRAM, change)


def _operand(prompt: str | None) -> str | None:
    """Append a space to a one-word prompt, which could be a subcommand (`doctor`) even after `--`.

    Claude Code strips the space again.
    """
    if prompt is None:
        return None
    prompt = as_prompt(prompt, Route.ARGUMENT)
    return prompt if len(prompt.split()) > 1 else f"{prompt} "


def root_around(path: Path) -> Path | None:
    """Return the folder that looks like the root of a session file."""
    projects = path.absolute().parents[1:2]
    return projects[0].parent if projects and projects[0].name == "projects" else None


def _handle(session: Session, root: Path, cwd: Path) -> str:
    """Return the argument of `--resume`: the id, or the path of a session in another project.

    Old versions (2.1.197) look for an id only in the project of the working directory. An invalid
    id could be taken for a flag, and the id in a renamed file for another session.
    """
    path = session.path.absolute()
    usual = root.absolute() / "projects" / project_folder(cwd) / f"{session.id}.jsonl"
    is_usual = is_uuid(session.id) and os.path.realpath(path) == os.path.realpath(usual)
    # A planned fork has no file yet, only an id.
    return str(path) if path.is_file() and not is_usual else session.id


# -- workers -------------------------------------------------------------------------------------

_SKIP = "--dangerously-skip-permissions"
_OUTPUT_FLAGS = flags("-p --print --output-format --input-format")
"""The worker decides whether to use a terminal."""
_NOT_OF_A_WORKER = _OUTPUT_FLAGS | {None}
"""Also the prompt, which has no flag."""
_MANAGED = Path("/etc/claude-code/managed-settings.json")


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """Add the options to the base command; remove session flags and the prompt."""
    extra = argv.extra_flags(options.extra, GRAMMAR, PROGRAM, SESSION_FLAGS | _OUTPUT_FLAGS)
    own: list[str] = []
    if options.model:
        own += ["--model", options.model]
    if options.skip_permissions:
        own.append(_SKIP)
    if options.settings:
        own += ["--settings", str(options.settings.absolute())]
    for folder in options.plugin_dirs:
        own += ["--plugin-dir", str(folder.absolute())]
    # These can be given only once: replace the user's.
    replaced = {flag for flag in ("--model", _SKIP, "--settings") if flag in own}
    replaced |= {arg.flag for arg in extra if arg.flag in ("--model", "--settings")}
    own += [word.text for arg in extra for word in arg.words]
    return rebuilt(command, own, dropped=_NOT_OF_A_WORKER | replaced)


def session_in(command: Command) -> str | None:
    """Return the id of the session that a command opens, if it names one."""
    arguments = GRAMMAR.arguments(argv.arguments_of(command, PROGRAM))
    values = {"--resume" if arg.flag == "-r" else arg.flag: arg.value for arg in arguments}
    session = values.get("--session-id")
    if session is None and "--fork-session" not in values:
        # A path works too: its file is named after the id.
        session = os.path.basename(values.get("--resume", "")).removesuffix(".jsonl")
    return session.lower() if session and is_uuid(session) else None


def begin(command: Command, new: NewSession, prompt: str | None = None) -> tuple[str, ...]:
    own = identity(checked_id(new.id) if new.id else None, new.title)
    return rebuilt(command, own, prompt, dropped=_NOT_OF_A_WORKER)


def one_turn(command: Command, session: NewSession, *, resume: bool) -> tuple[str, ...]:
    """Build `claude -p`, which reads the prompt from standard input and prints events."""
    if resume and session.id is None:
        raise UsageError("a turn of a session needs the id of the session")
    own = ["--resume", str(session.id)] if resume else identity(session.id, session.title)
    return rebuilt(command, ["--print", *PRINTED, *own], dropped=_NOT_OF_A_WORKER)


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """List the settings files: managed, user, project, and the one in the command."""
    arguments = GRAMMAR.arguments(argv.arguments_of(command, PROGRAM))
    values = [arg.value for arg in arguments if arg.flag == "--settings"]
    extra = [folder / value for value in values if not value.lstrip().startswith("{")]
    project = Path(os.path.realpath(folder)) / ".claude"
    standard = [root / "settings.json", project / "settings.json", project / "settings.local.json"]
    return [_MANAGED, *standard, *extra[-1:]]
