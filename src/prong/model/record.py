"""What values are made of: a `Record` is like a dataclass, but made without generated code.

Every command makes some sixty types before it does anything. A dataclass compiles six functions
for each, which is a third of the time that a short command takes; a struct compiles none
(docs/adr/0012). A type says itself whether it is frozen: `class Place(Record, frozen=True)`.
"""

# By an alias, so that it counts as a part of this module.
# ruff: noqa: PLC0414
from msgspec import Struct as Record
from msgspec import field as field
from msgspec.structs import asdict as asdict
from msgspec.structs import replace as replace

__all__ = ["Record", "asdict", "field", "replace"]
