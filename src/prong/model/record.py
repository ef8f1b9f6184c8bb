"""`Record`, the base class of prong's values: like a dataclass, but without generated code.

Every command creates about sixty types before it does anything. A dataclass compiles six functions
for each, a third of the run time of a short command; a struct compiles none (docs/adr/0012). Each
type declares whether it is frozen: `class Place(Record, frozen=True)`.
"""

# Aliased, so that type checkers treat the names as re-exported.
# ruff: noqa: PLC0414
from msgspec import Struct as Record
from msgspec import field as field
from msgspec.structs import asdict as asdict
from msgspec.structs import replace as replace

__all__ = ["Record", "asdict", "field", "replace"]
