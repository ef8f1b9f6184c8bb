"""Base class of widgets that draw only their visible lines."""

from collections.abc import Callable, Hashable

from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prong.tui.widgets.lines import CLASSES

_MOST_KEPT = 1_000
"""Maximum number of cached lines."""


class Drawing(ScrollView):
    COMPONENT_CLASSES = CLASSES

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(id=id)
        self._styles_of: dict[str, Style] = {}
        self._strips: dict[Hashable, Strip] = {}
        """Cache of drawn lines by all that they depend on. A dialog above causes many redraws."""

    def styled(self, name: str) -> Style:
        """Resolve a style in the current theme, for any background."""
        style = self._styles_of.get(name)
        if style is None:
            style = self._styles_of[name] = self._styled(name)
        return style

    def _styled(self, name: str) -> Style:
        # Colours blended with the background are only known together with it.
        blended = self.get_component_rich_style(f"drawn--{name}")
        if name == "cursor":
            return Style(bgcolor=blended.bgcolor)
        partial_style = self.get_component_rich_style(f"drawn--{name}", partial=True)
        return Style(
            color=blended.color if partial_style.color is not None else None,
            bold=partial_style.bold,
            italic=partial_style.italic,
            underline=partial_style.underline,
        )

    def notify_style_update(self) -> None:
        """Clear the caches, because the theme has changed."""
        self._styles_of.clear()
        self._strips.clear()
        super().notify_style_update()

    def forget_drawn(self) -> None:
        self._strips.clear()

    def kept(self, key: Hashable, draw: Callable[[], Strip]) -> Strip:
        """Return the cached line for the key, or draw it."""
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _MOST_KEPT:
                self._strips.clear()
            strip = self._strips[key] = draw()
        return strip
