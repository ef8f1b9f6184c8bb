"""One table of capabilities: what one front end can do, the others can, or say why not."""

import pytest

from prong.cli.main import COMMANDS
from prong.code.service import CodeService
from prong.code.worktrees.status import ManagedWorktrees
from prong.forks.service import ForkService
from prong.search.service import SearchService
from prong.session.service import SessionService
from prong.setup.hooks import HookSetup
from prong.setup.mcp import McpSetup
from prong.setup.schedule import ScheduleSetup
from prong.setup.service import SetupService
from prong.workers.launch.clone import WorkerCloner
from prong.workers.launch.fork import WorkerForks
from prong.workers.launch.plan import WorkerPlanner
from prong.workers.launch.start import WorkerStarter
from prong.workers.prompts import WorkerPrompts
from prong.workers.service import WorkerService
from prong.workers.states import WorkerStates
from tests.capabilities import CAPABILITIES, Capability, Missing

# Commands that are about the command line itself, or are a front end of their own.
NOT_CAPABILITIES = {"completion", "serve", "ui"}
SERVICES: dict[str, type] = {
    "sessions": SessionService,
    "search": SearchService,
    "forks": ForkService,
    "code": CodeService,
    "code.worktrees": ManagedWorktrees,
    "workers": WorkerService,
    "workers.states": WorkerStates,
    "workers.prompts": WorkerPrompts,
    "workers.planner": WorkerPlanner,
    "workers.starter": WorkerStarter,
    "workers.forks": WorkerForks,
    "workers.cloner": WorkerCloner,
    "setup": SetupService,
    "setup.mcp": McpSetup,
    "setup.hooks": HookSetup,
    "setup.schedule": ScheduleSetup,
}
CELLS = [name for name in Capability.__struct_fields__ if name not in ("name", "method")]


def test_every_command_is_in_the_table() -> None:
    listed = {one.command for one in CAPABILITIES if isinstance(one.command, str)}
    assert listed == set(COMMANDS) - NOT_CAPABILITIES


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
def test_every_method_exists_and_is_documented(capability: Capability) -> None:
    service, _, name = capability.method.rpartition(".")
    method = getattr(SERVICES[service], name)
    assert callable(method)
    assert method.__doc__


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
@pytest.mark.parametrize("cell", CELLS)
def test_an_empty_cell_states_its_reason(capability: Capability, cell: str) -> None:
    value = getattr(capability, cell)
    text = value.reason if isinstance(value, Missing) else value
    assert text.strip()


# What others are made of: every capability that needs a session or a store asks for them.
BUILDING_BLOCKS = {
    *("sessions.all", "sessions.get", "sessions.turns", "sessions.turn", "sessions.path_of"),
    *("sessions.page", "sessions.project", "code.has_last_turn"),
    *(
        "search.rest",
        "setup.rebuild",
        "search.read",
        "code.take_in",
        "code.recorded",
        "code.capture_in_use",
        "setup.hooks.backup",
    ),
    *("code.gaps", "code.captured", "code.worktrees.is_used"),
    *("forks.source", "forks.record"),
    *("workers.states.current", "workers.states.glance", "workers.states.lookout"),
    *("workers.states.described", "workers.states.watched", "workers.states.session_of"),
    "workers.states.own_pane",
    *("workers.prompts.start_turn", "workers.prompts.alone", "workers.planner.settled"),
    *("workers.starter.fork_draft", "workers.starter.trust", "workers.starter.terminal"),
    *("workers.starter.refuse_name", "workers.forks.plan", "workers.forks.start"),
}


def test_every_method_of_a_service_is_in_the_table() -> None:
    listed = {one.method for one in CAPABILITIES}
    public = {
        f"{service}.{name}"
        for service, class_ in SERVICES.items()
        for name, value in vars(class_).items()
        if callable(value) and not name.startswith("_") and name != "close"
    }
    assert public - listed == BUILDING_BLOCKS


def test_no_capability_is_listed_twice() -> None:
    assert len({one.name for one in CAPABILITIES}) == len(CAPABILITIES)
    assert len({one.method for one in CAPABILITIES}) == len(CAPABILITIES)
