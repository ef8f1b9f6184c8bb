"""Writes small Codex rollouts, line for line as the CLI would."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from prong.agents import versions
from tests.samples.lines import write_lines

_SECOND = timedelta(seconds=1)


class CodexSample:
    """A thread in the making. Ids follow from the thread's id, so a sample is always the same."""

    def __init__(
        self, thread_id: str, cwd: str, start: datetime, *, source: str = "cli", **meta: Any
    ) -> None:
        self.id = thread_id
        self.cwd = cwd
        self.start = start
        self.now = start
        self.lines: list[dict[str, Any]] = []
        self.ordinal = int(meta.get("forked_from_ordinal_exclusive", 0))
        self.turns: list[str] = []
        self.ends: list[int] = []
        """For each turn the ordinal of the line behind it."""
        self._count = 0
        self.add(
            "session_meta",
            session_id=thread_id,
            id=thread_id,
            timestamp=self.timestamp(),
            cwd=cwd,
            originator="codex-tui",
            source=source,
            thread_source="user",
            cli_version=versions.CODEX[-1],
            history_mode="paginated",
            git={"branch": "main"},
            **meta,
        )

    def uuid(self) -> str:
        self._count += 1
        return str(uuid5(UUID(self.id), str(self._count)))

    def timestamp(self) -> str:
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def add(self, line_type: str, **payload: Any) -> None:
        self.now += _SECOND
        self.lines.append(
            {
                "timestamp": self.timestamp(),
                "ordinal": self.ordinal,
                "type": line_type,
                "payload": payload,
            }
        )
        self.ordinal += 1

    def turn(
        self,
        prompt: str,
        answer: str,
        *,
        commands: Sequence[tuple[str, int]] = (),
        files: Sequence[str] = (),
    ) -> str:
        """One finished turn; its id comes back."""
        turn = self.uuid()
        self.turns.append(turn)
        self.add("event_msg", type="task_started", turn_id=turn)
        self.add("turn_context", turn_id=turn, cwd=self.cwd, model="gpt-5.6")
        self._message("user", "input_text", prompt)
        self._item(turn, type="UserMessage", content=[{"type": "text", "text": prompt}])
        for command, exit_code in commands:
            self._command(turn, command, exit_code)
        if files:
            changes = {file: {"type": "add", "content": ""} for file in files}
            self._item(turn, type="FileChange", id=self.uuid(), changes=changes, status="completed")
        self._item(turn, type="AgentMessage", content=[{"type": "text", "text": answer}])
        self._message("assistant", "output_text", answer)
        self.add("event_msg", type="task_complete", turn_id=turn, last_agent_message=answer)
        self.ends.append(self.ordinal)
        return turn

    def _message(self, role: str, kind: str, text: str) -> None:
        content = [{"type": kind, "text": text}]
        self.add("response_item", type="message", role=role, content=content)

    def _item(self, turn: str, **item: Any) -> None:
        self.add("event_msg", type="item_completed", thread_id=self.id, turn_id=turn, item=item)

    def _command(self, turn: str, command: str, exit_code: int) -> None:
        call = f"call_{self.uuid()}"
        self.add(
            "response_item",
            type="function_call",
            name="exec_command",
            arguments=json.dumps({"cmd": command}),
            call_id=call,
        )
        self._item(
            turn,
            type="CommandExecution",
            id=call,
            command=["/bin/bash", "-lc", command],
            status="completed" if exit_code == 0 else "failed",
            exit_code=exit_code,
        )
        output = f"Process exited with code {exit_code}\nOutput:\n"
        self.add("response_item", type="function_call_output", call_id=call, output=output)

    def fork(self, thread_id: str, turn_count: int) -> "CodexSample":
        """A fork as Codex makes it: a stub that names where in this thread it goes on."""
        end = self.ends[turn_count - 1]
        return CodexSample(
            thread_id,
            self.cwd,
            self.now,
            forked_from_id=self.id,
            forked_from_ordinal_exclusive=end,
            history_base={
                "thread_id": self.id,
                "end_ordinal_exclusive": end,
                "end_byte_offset": self._offset(end),
            },
        )

    def _offset(self, end: int) -> int:
        """Where in the file that `write` makes the line with this ordinal begins."""
        before = [line for line in self.lines if line["ordinal"] < end]
        texts = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in before)
        return sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in texts)

    def write(self, root: Path) -> Path:
        folder = root / "sessions" / f"{self.start:%Y/%m/%d}"
        name = f"rollout-{self.start:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"
        return write_lines(folder / name, self.lines)
