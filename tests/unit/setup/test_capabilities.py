"""One table of capabilities: what one front end can do, the others can, or say why not."""

import pytest

from prong.app import App
from prong.cli.main import COMMANDS
from prong.setup.capabilities import CAPABILITIES, Capability, Missing
from prong.setup.mcp import McpSetup
from prong.workers.service import Workers

# Commands that are about the command line itself, or are a front end of their own.
NOT_CAPABILITIES = {"completion", "serve", "ui"}
PARTS = {"workers": Workers, "mcp_setup": McpSetup}
CELLS = [name for name in Capability.__struct_fields__ if name not in ("name", "method")]


def test_every_command_is_in_the_table() -> None:
    listed = {one.command for one in CAPABILITIES if isinstance(one.command, str)}
    assert listed == set(COMMANDS) - NOT_CAPABILITIES


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
def test_every_method_exists_and_is_documented(capability: Capability) -> None:
    part, _, name = capability.method.rpartition(".")
    assert not part or hasattr(App, part)
    method = getattr(PARTS[part] if part else App, name)
    assert callable(method)
    assert method.__doc__


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
@pytest.mark.parametrize("cell", CELLS)
def test_an_empty_cell_states_its_reason(capability: Capability, cell: str) -> None:
    value = getattr(capability, cell)
    text = value.reason if isinstance(value, Missing) else value
    assert text.strip()


def test_every_method_of_workers_is_in_the_table() -> None:
    listed = {one.method for one in CAPABILITIES}
    public = {name for name in vars(Workers) if not name.startswith("_")}
    # What others are made of.
    assert {f"workers.{name}" for name in public - {"records", "named", "current"}} <= listed


MADE_OF = {
    # What others are made of: every capability that needs a session or a store asks for them.
    *("sessions", "session", "turns", "turn", "store", "roots", "root_variables", "close", "rest"),
    *("reading", "is_current", "path_of", "recorded_forks", "record", "state_health"),
    *("kept_turns", "capture_in_use", "hook_backup"),
}


def test_every_method_of_the_application_is_in_the_table() -> None:
    listed = {one.method for one in CAPABILITIES}
    public = {
        name for name, value in vars(App).items() if callable(value) and not name.startswith("_")
    }
    assert public - listed == MADE_OF


def test_no_capability_is_listed_twice() -> None:
    assert len({one.name for one in CAPABILITIES}) == len(CAPABILITIES)
    assert len({one.method for one in CAPABILITIES}) == len(CAPABILITIES)
