"""What `prong-hook` reads the sessions of `notes` with."""

from pathlib import Path

from prong.agents.last_turn import LastTurn, LastTurnReader, backwards


class NotesLastTurn(LastTurnReader):
    def last(self, path: Path, running: str | None = None) -> LastTurn | None:
        for line, _ in backwards(path):
            if "turn" in line:
                return LastTurn(line["turn"], said=line["answer"], prompt=line["prompt"])
        return None
