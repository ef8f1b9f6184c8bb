"""Gauge of how much of the model's window a fork uses."""

from textual.content import Content
from textual.widgets import Static

from prong.forks.context_window import BudgetLevel
from prong.model.amounts import counted

_BAR = 20
_STYLES = {
    BudgetLevel.OK: "$text-success",
    BudgetLevel.NEAR: "$text-warning",
    BudgetLevel.OVER: "$text-error",
    BudgetLevel.UNKNOWN: "$text-muted",
}
_WORDS = {BudgetLevel.NEAR: "  close to the window", BudgetLevel.OVER: "  more than the window"}


class Gauge(Static):
    def show(self, tokens: int, window: int | None, level: BudgetLevel) -> None:
        size = f"about {tokens:,} tokens" if tokens != 1 else counted(tokens, "token")
        if window is None:
            self.update(Content(f"{size}; the model's window is unknown"))
            return
        share = tokens / window
        filled = min(round(share * _BAR), _BAR)
        style = _STYLES[level]
        self.update(
            Content.assemble(
                ("█" * filled, style),
                ("░" * (_BAR - filled), "$text-disabled"),
                f" {share:.0%}  {size} of {window:,}",
                (_WORDS.get(level, ""), style),
            )
        )
