"""The plug-in for Claude Code is true: its version, its server, the tools that it names."""

import json
import re
from pathlib import Path

import pytest

from prong import __version__
from prong.mcp.tools import TOOLS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
PAGES = sorted(PLUGIN.rglob("*.md"))
NAMES = {tool.name for tool in TOOLS}
ARGUMENTS = {
    name
    for tool in TOOLS
    for name in (*tool.described.input_schema["properties"], "session_name", "can_fork")
}
"""What is named like a tool and is given to one, or given back."""


def test_it_has_our_version_and_our_server() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("prong", __version__)
    servers = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"prong": {"command": "prong", "args": ["mcp"]}}
    [listed] = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (listed["name"], (ROOT / listed["source"]).resolve()) == ("prong", PLUGIN)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tools_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"mcp__plugin_prong_prong__(\w+)", text)
    # In the text, whatever looks like the name of a tool.
    named += [word for word in re.findall(r"`([a-z]+_[a-z_]+)`", text) if word not in ARGUMENTS]
    assert set(named) <= NAMES


def test_a_command_may_only_read_without_being_asked() -> None:
    reading = {tool.name for tool in TOOLS if not tool.writes}
    for page in (PLUGIN / "commands").iterdir():
        [allowed] = re.findall(r"^allowed-tools: (.*)$", page.read_text(), flags=re.MULTILINE)
        names = [
            name.strip().removeprefix("mcp__plugin_prong_prong__") for name in allowed.split(",")
        ]
        assert names
        assert set(names) <= reading


def test_the_guide_allows_what_only_reads() -> None:
    page = (ROOT / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
    [settings] = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    allowed = json.loads(settings)["permissions"]["allow"]
    reading = {f"mcp__prong__{tool.name}" for tool in TOOLS if not tool.writes}
    assert set(allowed) == reading
