"""Too little memory for one call: the agent is told so, and the server answers the next one."""

import subprocess
import sys
from pathlib import Path

from tests.cli.shell import API, Shell

MB = 1 << 20
ROOT = Path(__file__).parents[2]
SCRIPT = """
import resource, sys
from tests.mcp.agent import in_memory
large, small, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
with in_memory() as agent:
    assert agent.ok("read_session", session=small)["messages"]
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, resource.RLIM_INFINITY))
    for tool in ("read_session", "list_turns"):
        problem = agent.problem(tool, session=large)
        assert problem["code"] == "unavailable", problem
        assert problem["message"] == "not enough memory", problem
        assert agent.ok("read_session", session=small)["messages"]
"""


def test_a_session_that_is_too_large_for_the_memory(samples: Shell) -> None:
    sample = samples.session(7)
    sample.prompt("x" * (60 * MB))
    sample.answer("Done.")
    sample.write(samples.home.claude)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, sample.id, API, str(150 * MB)],
        env={**samples.env(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"bug" not in done.stderr
