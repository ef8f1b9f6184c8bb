"""What docs/guides/mcp.md says of permissions and of the plug-in, tried with the real agents."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Reply, ToolCall, say
from prong.testing.wait import PATIENCE
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.requests import anthropic_items, openai_items
from tests.e2e.command_line import environment

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugin"
PAGE = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find_sessions", {}),
    ("spawn_workers", {"workers": [{"prompt": "x"}], "dry_run": True}),
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def run(argv: list[str], cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def installed(home: IsolatedHome, cli: ClaudeCli | CodexCli, agent: str) -> dict[str, str]:
    """The environment of an agent that was told of the server."""
    env = environment(home, cli.env(), cli.program)
    words = ["mcp", "install", "--agent", agent, "--yes"]
    run([sys.executable, "-m", "prong", *words], home.project("shop"), env)
    return env


def asked(server: FakeAnthropic, cli: ClaudeCli, env: dict[str, str], *words: str) -> list[str]:
    """The results of our calls in `claude -p`, which skips no permission."""
    server.clear_queue()
    server.enqueue(*(Reply(ToolCall(f"mcp__prong__{name}", given)) for name, given in CALLS))
    server.enqueue(say("that is all"))
    env = {**env, "MCP_CONNECTION_NONBLOCKING": "false"}
    run([str(cli.program), "-p", "look", *words], cli.home.project("shop"), env)
    body = server.conversation_requests()[-1].body
    return [item.text for item in anthropic_items(body) if item.role == "result"]


def test_what_claude_asks_for(
    isolated_home: IsolatedHome, fake_anthropic: FakeAnthropic, claude_cli: ClaudeCli
) -> None:
    env = installed(isolated_home, claude_cli, "claude")
    for result in asked(fake_anthropic, claude_cli, env):
        assert "haven't granted it" in result
    reading, starting = asked(fake_anthropic, claude_cli, env, "--allowedTools", "mcp__prong")
    assert json.loads(reading)["own_session"].startswith("claude:")
    assert json.loads(starting)["workers"][0]["plan"]["agent"] == "claude"
    (settings,) = blocks("json")
    (isolated_home.claude / "settings.json").write_text(settings)
    reading, starting = asked(fake_anthropic, claude_cli, env)
    assert json.loads(reading)["own_session"].startswith("claude:")
    assert "haven't granted it" in starting


def test_what_codex_asks_for(
    isolated_home: IsolatedHome, fake_openai: FakeOpenAI, codex_cli: CodexCli
) -> None:
    project = isolated_home.project("shop")
    codex_cli.trust(project)
    env = installed(isolated_home, codex_cli, "codex")
    config = isolated_home.codex / "config.toml"
    before = config.read_text().replace("danger-full-access", "workspace-write")
    approval, _, required = blocks("toml")
    entry = "[mcp_servers.prong]\n"
    assert required.startswith(entry)
    waiting = before.replace(entry, required)
    all_, one = (f"{part}\n" for part in approval.strip().split("\n\n"))

    def results(text: str) -> list[str]:
        config.write_text(text)
        calls = [Reply(ToolCall(name, given, namespace="mcp__prong")) for name, given in CALLS]
        fake_openai.enqueue(*calls, say("that is all"))
        assert codex_cli.run("look", project, env=env).result == "that is all"
        body = fake_openai.conversation_requests()[-1].body
        return [item.text for item in openai_items(body) if item.role == "result"]

    reading, starting = results(waiting)
    assert '"sessions"' in reading
    assert "requires approval" in starting
    assert '"count":0' in results(waiting.replace(entry, all_))[1]
    assert '"count":0' in results(waiting + one.replace("smart_fork", "spawn_workers"))[1]


def test_the_plug_in(
    isolated_home: IsolatedHome, fake_anthropic: FakeAnthropic, claude_cli: ClaudeCli
) -> None:
    claude = str(claude_cli.program)
    project = isolated_home.project("shop")
    claude_cli.prepare(project)
    env = claude_cli.env()
    # Where `prong` is what it is here.
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env["MCP_CONNECTION_NONBLOCKING"] = "false"
    report = json.loads(run([claude, "plugin", "validate", "--json", "--strict", "."], PLUGIN, env))
    assert report["success"], report
    run([claude, "plugin", "validate", "--strict", "."], ROOT, env)
    run([claude, "plugin", "marketplace", "add", "./"], ROOT, env)
    run([claude, "plugin", "install", "prong@prong"], project, env)
    assert "plugin:prong:prong: prong mcp - " in run([claude, "mcp", "list"], project, env)

    wanted = {"intent": "how prices are parsed"}
    tool = ToolCall("mcp__plugin_prong_prong__find_sessions", wanted)
    fake_anthropic.enqueue(Reply(tool), say("nothing yet"))
    # The command brings the permission to search.
    run([claude, "-p", "/prong:find how prices are parsed"], project, env)
    first, last = fake_anthropic.conversation_requests()
    assert "<wanted>\nhow prices are parsed\n</wanted>" in first.prompt
    (result,) = [one.text for one in anthropic_items(last.body) if one.role == "result"]
    assert json.loads(result)["query"] == "how prices are parsed"
    told = json.dumps(first.body)
    for name in ("prong:find", "prong:fork", "prong:past-sessions"):
        assert f"- {name}: " in told
