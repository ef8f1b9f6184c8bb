"""The page about MCP tools is that of the tools there are."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "mcp_reference.py"))
    page = (ROOT / "docs" / "reference" / "mcp.md").read_text(encoding="utf-8")
    assert page == made["reference"](), "run: python tools/mcp_reference.py"
