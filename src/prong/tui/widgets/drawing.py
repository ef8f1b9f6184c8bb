"""A widget that draws lines itself, and only those that are seen."""

from collections.abc import Callable, Hashable

from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prong.tui.widgets.lines import CLASSES

_MOST_KEPT = 1_000
"""Lines that were drawn."""


class Drawing(ScrollView):
    COMPONENT_CLASSES = CLASSES

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(id=id)
        self._styles_of: dict[str, Style] = {}
        self._strips: dict[Hashable, Strip] = {}
        """What was drawn, by all that it depends on: below a dialog it is asked for again and
        again."""

    def styled(self, name: str) -> Style:
        """What a style looks like in the theme that there is, on whatever background."""
        known = self._styles_of.get(name)
        if known is None:
            known = self._styles_of[name] = self._styled(name)
        return known

    def _styled(self, name: str) -> Style:
        # Colours that are mixed with the background are known only together with it.
        full = self.get_component_rich_style(f"drawn--{name}")
        if name == "cursor":
            return Style(bgcolor=full.bgcolor)
        own = self.get_component_rich_style(f"drawn--{name}", partial=True)
        return Style(
            color=full.color if own.color is not None else None,
            bold=own.bold,
            italic=own.italic,
            underline=own.underline,
        )

    def notify_style_update(self) -> None:
        """Another theme has other colours."""
        self._styles_of.clear()
        self._strips.clear()
        super().notify_style_update()

    def forget_drawn(self) -> None:
        """Something else is to be seen."""
        self._strips.clear()

    def kept(self, key: Hashable, draw: Callable[[], Strip]) -> Strip:
        """What was drawn for the key; drawn now when it was not yet."""
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _MOST_KEPT:
                self._strips.clear()
            strip = self._strips[key] = draw()
        return strip
