"""What both generators need: a seeded source of text, sizes, ids and times. No clock is read."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

Record = dict[str, Any]
"""One line of a session file, before it is encoded. Key order is that of the real files."""

# fmt: off
_WORDS = (
    "add", "after", "again", "all", "api", "app", "branch", "build", "bug", "cache", "call",
    "change", "check", "class", "client", "code", "command", "commit", "config", "data", "default",
    "delete", "deploy", "docs", "each", "error", "event", "example", "fail", "fetch", "field",
    "file", "first", "fix", "for", "format", "from", "function", "get", "handle", "header", "how",
    "import", "index", "input", "into", "is", "issue", "it", "items", "job", "key", "last",
    "layer", "library", "limit", "line", "list", "load", "local", "log", "main", "make", "message",
    "method", "module", "move", "name", "new", "node", "not", "now", "number", "object", "old",
    "only", "open", "option", "order", "output", "page", "parse", "path", "please", "plan",
    "project", "prompt", "public", "query", "queue", "rate", "read", "record", "refactor",
    "release", "remove", "rename", "request", "response", "result", "return", "route", "row",
    "run", "schema", "search", "server", "session", "set", "should", "show", "size", "split",
    "state", "store", "string", "table", "task", "test", "that", "the", "then", "this", "time",
    "token", "tool", "tree", "turn", "type", "update", "use", "user", "value", "version", "when",
    "where", "why", "with", "without", "worker", "write",
)
# fmt: on

_CODE = (
    "    def {0}_{1}(self, {2}: str) -> None:",
    '        """{0} the {1} before the {2}."""',
    "        if not self.{0}.{1}({2}):",
    '            raise ValueError(f"{0} {1}: {{{2}!r}}")',
    "        return [{0} for {0} in self.{1} if {0}.{2}]",
    "\t{0} := {1}.{2}(ctx)",
    '  "{0}": {{"{1}": "{2}"}},',
    "+    {0}.{1}({2})",
    "-    {0}.{1}()",
    "src/{0}/{1}_{2}.py:{3}: {0} {1}",
    "{0} {1} {2} \N{EM DASH} {1} {0}, caf\N{LATIN SMALL LETTER E WITH ACUTE} {2}.",
    "The {0} of {1} is in `{2}.py`; {0} {1} does not {2} it.",
    "\N{CHECK MARK} {0} {1} {2} ({3} ms)",
    "",
)

_POOL_CHARS = 1 << 20
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class Parts:
    """Everything random in a store comes out of one of these, so one seed gives one store."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._pool = self._make_pool()

    def _make_pool(self) -> str:
        lines: list[str] = []
        size = 0
        while size < _POOL_CHARS:
            line = self.rng.choice(_CODE).format(
                *self.rng.sample(_WORDS, 3), self.rng.randrange(2000)
            )
            lines.append(line)
            size += len(line) + 1
        return "\n".join(lines)

    def text(self, chars: float) -> str:
        """Something like source code and tool output, of about this length."""
        wanted = max(1, int(chars))
        if wanted > _POOL_CHARS // 2:
            half = wanted // 2
            return self.text(half) + self.text(wanted - half)
        start = self.rng.randrange(_POOL_CHARS - wanted)
        return self._pool[start : start + wanted]

    def words(self, count: int) -> str:
        return " ".join(self.rng.choices(_WORDS, k=count))

    def prompt(self) -> str:
        """What a person types: p50 about 60 characters, p90 about 800, as in real sessions."""
        chars = self.size(60, 1.6, 9_000)
        return self.words(max(2, chars // 6)) if chars < 600 else self.text(chars)

    def size(self, median: float, sigma: float, most: float) -> int:
        """A log-normal length, cut at `most`."""
        return int(min(median * self.rng.lognormvariate(0, sigma), most))

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def hex(self, digits: int) -> str:
        return f"{self.rng.getrandbits(digits * 4):0{digits}x}"

    def uuid4(self) -> str:
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def uuid7(self, milliseconds: int) -> str:
        h = f"{milliseconds:012x}{self.hex(20)}"
        return f"{h[:8]}-{h[8:12]}-7{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def clock(self) -> "Clock":
        """A clock that starts somewhere in a span of 300 days."""
        return Clock(self.rng, int(self.rng.random() * 300 * 86_400_000))


class Clock:
    """Goes forward by a few seconds whenever it is asked for the time."""

    def __init__(self, rng: random.Random, milliseconds: int) -> None:
        self._rng = rng
        self.elapsed = milliseconds

    @property
    def now(self) -> datetime:
        return _EPOCH + timedelta(milliseconds=self.elapsed)

    @property
    def milliseconds(self) -> int:
        return int(self.now.timestamp() * 1000)

    def wait(self, seconds: float) -> None:
        self.elapsed += int(seconds * 1000)

    def stamp(self) -> str:
        """The next time, as both agents write it: `2026-03-19T03:03:16.295Z`."""
        self.elapsed += 40 + int(self._rng.random() * 5000)
        return self.now.isoformat(timespec="milliseconds")[:-6] + "Z"
