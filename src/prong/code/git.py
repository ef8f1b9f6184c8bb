"""The only module that runs git.

Git runs inside other people's hooks and next to their own git commands. So their environment must
not influence it (the variables that git sets for hooks would select another repository), and it
must leave no trace: no lock on their index, no hook, no daemon, no garbage collection, no prompt.

It runs no program that the repository configures, because a repository may come from anybody. Git
has no single switch for that, so each such setting is turned off.
"""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from math import inf
from pathlib import Path
from typing import IO, NamedTuple

from prong.errors import External, NotFound, Unavailable

_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
"""Locations of the user's own settings. Git never sets these for a hook."""
_WAYS = ("GIT_SSH", "GIT_PROXY", "GIT_SSL", "GIT_HTTP")
"""Prefixes of variables that configure how the user's git reaches a remote."""
_SET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # For older versions of git. A remote can name a program in many ways.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_AUTHOR_NAME": "prong",
    "GIT_AUTHOR_EMAIL": "prong@localhost",
    "GIT_COMMITTER_NAME": "prong",
    "GIT_COMMITTER_EMAIL": "prong@localhost",
    "LC_ALL": "C",
}
_NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # overrides core.askPass and SSH_ASKPASS
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
}
"""Nobody can answer a prompt: git has the credentials, or fails at once."""
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "log.showSignature=false",
    # Files that git would read: if one is a named pipe, git hangs.
    "diff.orderFile=/dev/null",
    "mailmap.file=/dev/null",
    "advice.graftFileDeprecated=false",
)
_OPTIONS = tuple(word for setting in _SETTINGS for word in ("-c", setting))
_PLAIN = frozenset(
    (
        *("cat-file", "check-attr", "check-ignore", "check-ref-format", "config", "diff-index"),
        *("diff-tree", "for-each-ref", "hash-object", "ls-files", "ls-tree", "reflog", "remote"),
        *("rev-list", "rev-parse", "show-ref", "version"),
    )
)
"""Commands that write nothing and do not read the working tree: no filter, no hook."""
_BRIEF = _PLAIN | {"diff-files", "status", "symbolic-ref", "update-ref", "worktree", "write-tree"}
"""Commands that end soon in a repository of any size: they read, or write no files of the user."""
_PATIENCE = 120.0
"""Timeout in seconds of a brief command, where the caller has no deadline.

A named pipe called `.gitattributes`, one below `.git` or one that the settings name makes git hang.
"""
_PROGRAMS = re.compile(rb"(filter|hook)\.(.+)\.[^.]+", re.DOTALL)
_LISTED = ("config", "-z", "--name-only", "--get-regexp", r"^(filter|hook)\.")
_OFF = {
    b"filter": {"clean": "", "smudge": "", "process": "", "required": "false"},
    b"hook": {"enabled": "false"},
}
_TAIL = 2000
"""How many bytes of stderr are kept."""


class Deadline:
    """A time limit for git processes, which are killed when it expires."""

    def __init__(self, seconds: float = inf) -> None:
        self._end = time.monotonic() + seconds
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if self.is_set:
            self._timer = threading.Timer(max(seconds, 0), self._strike)
            self._timer.daemon = True
            self._timer.start()

    @property
    def is_set(self) -> bool:
        return self._end < inf

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._end

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(process)
        if self.over:
            self._strike()

    def remove(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(process)

    def lift(self) -> None:
        self._end = inf
        if self._timer is not None:
            self._timer.cancel()

    def _strike(self) -> None:
        if not self.is_set:
            return
        with self._lock:
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, with its children if it leads its own process group."""
    with suppress(OSError):
        if process.poll() is None and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def items_of(output: bytes) -> list[bytes]:
    """Split the output of a command with `-z`, which ends each item with a NUL."""
    return output.split(b"\0")[:-1]


class GitResult(NamedTuple):
    arguments: tuple[str, ...]
    status: int
    output: bytes
    complaint: str

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def items(self) -> list[bytes]:
        return items_of(self.output)

    def expect(self) -> bytes:
        """Return the output, or raise `External` if git failed."""
        if self.ok:
            return self.output
        first = next((line for line in self.complaint.splitlines() if line.strip()), "")
        raise External(
            f"git {self.arguments[0]} failed: {first or f'status {self.status}'}",
            argv=["git", *self.arguments],
            status=self.status,
            stderr=self.complaint,
        )


class RunningGit(NamedTuple):
    """A git process that was started."""

    process: subprocess.Popen[bytes]
    arguments: tuple[str, ...]
    deadline: Deadline
    output: Path | None
    """The file that stdout is written to, if any."""
    patience: float | None

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    def line(self) -> bytes:
        """Read one line of output after flushing the input; empty at the end."""
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.stdin.flush()
        return self.process.stdout.readline()

    def answer(self, rest: bytes | None = None) -> GitResult:
        """Send the rest of the input and wait for the end."""
        try:
            if rest is not None:
                try:
                    self.stdin.flush()
                except BrokenPipeError:
                    rest = None  # git reads no more
            output, complaint = self.process.communicate(rest, self.patience)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise External(
                f"git {self.arguments[0]} did not end within {self.patience:.0f} s",
                hint="Is there a pipe in place of a file that git reads, such as .gitattributes?",
            ) from error
        except BaseException:
            self.kill()
            raise
        finally:
            self.deadline.remove(self.process)
        if self.output is not None:
            output = self.output.read_bytes()
        text = complaint[-_TAIL:].decode(errors="replace")
        return GitResult(self.arguments, self.process.returncode, output, text)

    def kill(self) -> None:
        if self.process.poll() is None:
            _kill(self.process)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(OSError):  # unsent input is lost
                    pipe.close()
        self.process.wait()
        self.deadline.remove(self.process)


class Git:
    """Git in one folder. `options` precede the command name, as in `--git-dir X`."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        index: Path | None = None,
        objects: Path | None = None,
        deadline: Deadline | None = None,
        config: bytes | None = None,
        filters: bool = False,
        as_user: bool = False,
    ) -> None:
        """Configure git. `index` replaces the user's; new `objects` are written there.

        `config`: the output of `git config -z --list`, if known. `filters`: run the configured
        filters, for files that a person checks out or adds. `as_user`: run hooks, reach remotes.
        """
        self.folder = folder
        self.index = index
        self.objects = objects
        self.options = options
        self.deadline = deadline or Deadline()
        self._config = config
        self._filters = filters
        self._as_user = as_user

    def start(self, *arguments: str, feed: bool = False, output: Path | None = None) -> RunningGit:
        """Start git. `feed`: open its stdin. `output`: write stdout to this file."""
        stdout = None if output is None else output.open("wb")
        settings = () if self._as_user else _OPTIONS
        try:
            process = subprocess.Popen(
                ("git", *settings, *self.options, *arguments),  # noqa: S607 (the git of PATH)
                cwd=self.folder,
                env=self._environment(arguments[0]),
                stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE,
                # A hook or transport finds no terminal to prompt on, and ends with git.
                start_new_session=self._as_user,
            )
        except FileNotFoundError as error:
            if self.folder.is_dir():
                raise Unavailable("git is not installed", hint="install git") from error
            raise NotFound(f"folder {self.folder} does not exist") from error
        except OSError as error:
            raise External(f"git could not be started: {error.strerror}") from error
        finally:
            if stdout is not None:
                stdout.close()
        is_unlimited = self.deadline.is_set or self._as_user or self._filters
        bounded = not is_unlimited and arguments[0] in _BRIEF
        self.deadline.add(process)
        return RunningGit(process, arguments, self.deadline, output, _PATIENCE if bounded else None)

    def ask(self, *arguments: str, stdin: bytes | None = None) -> GitResult:
        """Run git and return the result, whatever its status."""
        return self.start(*arguments, feed=stdin is not None).answer(stdin)

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run git and return its output; raise `External` if it fails."""
        return self.ask(*arguments, stdin=stdin).expect()

    def items(self, *arguments: str, stdin: bytes | None = None) -> list[bytes]:
        return items_of(self.run(*arguments, stdin=stdin))

    def is_on(self, setting: str) -> bool:
        answer = self.ask("config", "--type=bool", "--get", setting)
        return answer.output.strip() == b"true"

    def has(self, ref: str) -> bool:
        return self.ask("rev-parse", "--verify", "--quiet", ref).ok

    def delete_ref(self, ref: str, commit: str) -> bool:
        """Delete a ref unless it has moved away from this commit."""
        stdin = os.fsencode(f"delete {ref}\0{commit}\0")
        return self.ask("update-ref", "-z", "--stdin", stdin=stdin).ok

    def objects_of(self, ids: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read objects by id, without missing ones, as in a partial clone."""
        stdin = b"".join(name + b"\n" for name in ids)
        output = self.run("cat-file", "--batch", stdin=stdin) if stdin else b""
        contents: dict[bytes, bytes] = {}
        position = 0
        while position < len(output):
            end = output.index(b"\n", position)
            name, *fields = output[position:end].split()
            position = end + 1
            if len(fields) == 2:  # type and size; else `missing`
                size = int(fields[1])
                contents[name] = output[position : position + size]
                position += size + 1
        return contents

    def empty_tree(self) -> str:
        """Return the id of the empty tree, which git knows even if it was never written."""
        return self.run("hash-object", "-t", "tree", os.devnull).decode().strip()

    @cached_property
    def programs(self) -> frozenset[tuple[bytes, bytes]]:
        """The filters and hooks in the settings, as in `(b"filter", b"lfs")`."""
        config = self._config
        if config is None:
            config = Git(self.folder, *self.options, deadline=self.deadline).ask(*_LISTED).output
        names = (entry.partition(b"\n")[0] for entry in config.split(b"\0"))
        matches = (_PROGRAMS.fullmatch(name) for name in names)
        return frozenset((match[1], match[2]) for match in matches if match)

    def _switches(self) -> dict[str, str]:
        """Turn programs off by variables: options cannot set names with an equals sign."""
        settings = [
            (f"{os.fsdecode(kind)}.{os.fsdecode(name)}.{key}", value)
            for kind, name in sorted(self.programs)
            if not (self._filters and kind == b"filter")
            for key, value in _OFF[kind].items()
        ]
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings):
            variables[f"GIT_CONFIG_KEY_{number}"] = name
            variables[f"GIT_CONFIG_VALUE_{number}"] = value
        return variables

    def _environment(self, command: str) -> Mapping[str, str]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_")
            or name in _KEPT
            or (self._as_user and name.startswith(_WAYS))
        }
        if self._as_user:
            environment |= _NO_QUESTIONS
        else:
            environment |= _SET
            if self._filters:
                del environment["GIT_ALLOW_PROTOCOL"]  # a filter may download content
            if command not in _PLAIN:
                environment |= self._switches()
        if self.index is not None:
            environment["GIT_INDEX_FILE"] = str(self.index)
        if self.objects is not None:
            environment["GIT_OBJECT_DIRECTORY"] = str(self.objects)
        return environment
