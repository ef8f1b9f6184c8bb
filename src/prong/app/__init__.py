"""The application: every capability once. Front ends parse and present; this decides."""

from prong.app.application import App

__all__ = ["App"]
