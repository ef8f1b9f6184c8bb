"""Packages with plug-ins, as far as Python sees them."""

import os
import sys
from pathlib import Path

import pytest


def install(
    monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str], group: str = "prong.agents"
) -> None:
    """Install a package that names these agents. The home must be that of the test."""
    folder = Path(os.environ["HOME"]) / "packages" / "others-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points)
    (folder / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    monkeypatch.setattr(sys, "path", [str(folder.parent), *sys.path])
