"""What is loaded when: an agent starts the server with each session, and rarely searches."""

import subprocess
import sys
from pathlib import Path

from prong.app import App
from prong.model.search import SearchRequest
from tests.cli.shell import Shell

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from tests.mcp.agent import in_memory
HEAVY = ("onnxruntime", "numpy", "tantivy", "textual")
with in_memory() as agent:
    agent.tools()
    assert not [name for name in HEAVY if name in sys.modules], "at the start"
    session = agent.ok("find_sessions")["sessions"][0]["ref"]
    agent.ok("read_session", session=session)
    agent.ok("list_turns", session=session)
    agent.ok("list_workers")
    assert not [name for name in HEAVY if name in sys.modules], "before the first search"
    agent.ok("smart_fork", intent="parser")
    assert "onnxruntime" in sys.modules
"""


def test_the_model_is_loaded_by_the_first_search(samples: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**samples.env(), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_model_is_unloaded_when_nobody_searches(samples: Shell) -> None:
    with App() as app:
        app.search.rest()  # nothing is open
        app.search.find(SearchRequest("parser"))
        embedder = app.search._embedder
        app.search.rest()
        assert embedder.loaded
        embedder._used -= 3_600
        app.search.rest()
        assert not embedder.loaded
        assert app.search.find(SearchRequest("rate limiting")).hits
