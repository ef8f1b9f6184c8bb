"""`Record`, the base class of prong's values: like a dataclass, but without generated code.

Every command creates about sixty types before it does anything. A dataclass compiles six functions
for each, a third of the run time of a short command; a struct compiles none (docs/adr/0012). Each
type declares whether it is frozen: `class Place(Record, frozen=True)`.
"""

# Aliased, so that type checkers treat the names as re-exported.
# ruff: noqa: PLC0414
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct as Record
from msgspec import ValidationError
from msgspec import convert as _convert
from msgspec import field as field
from msgspec.structs import asdict as asdict
from msgspec.structs import replace as replace

__all__ = ["Record", "asdict", "convert", "field", "replace"]

T = TypeVar("T")


def convert(values: Any, kind: type[T]) -> T:
    """Build a record from plain values: times and paths as text, flags as numbers.

    Raises `ValueError` when a value does not fit.
    """
    try:
        return _convert(values, kind, strict=False, dec_hook=_path)
    except ValidationError as error:
        raise ValueError(str(error)) from None


def _path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError
