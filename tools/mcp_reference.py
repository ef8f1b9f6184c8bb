"""Writes docs/reference/mcp.md from the tools as they are: `python tools/mcp_reference.py`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prong.mcp.schemas import input_schema, output_schema
from prong.mcp.tool import Effect, Tool
from prong.mcp.tools import TOOLS

REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "mcp.md"
_WIDTH = 100
_TYPES = {"string": "text", "integer": "number", "boolean": "true or false"}
_EFFECTS = {
    Effect.READS: "Writes nothing.",
    Effect.WRITES: "Writes: left out with `--read-only`.",
    Effect.ENDS: "Writes, and is marked as destructive: left out with `--read-only`.",
}
_HEAD = """# MCP tools

`prong mcp` serves these tools to an agent ([how to set it up](../guides/mcp.md)). This page is made
by `tools/mcp_reference.py`.

- An argument that the tool does not know is a problem: a misspelt `dry_run` never does what it was
  to show. `null` counts as not given.
- A session is named by `claude:<id>`, by its id or the beginning of it, or by the name of a worker;
  `@12` behind it is a turn. A path is not taken.
- Every answer is structured; this page has its fields. A field that says nothing (null, an empty
  text or list) is left out. The text beside it is the same as JSON, in a fence: titles, prompts,
  snippets and messages are quoted from sessions and may say anything. `notice` says so, too.
- Keys and tokens of known shapes are masked in every field, and characters that nobody sees
  (control, direction, zero-width, tags) are taken out.
- In results, `prompt` is there without a snippet only, `turn_id` without a turn number,
  `jsonl_path` and `source_path` without a `ref`, and `attempts` when something failed.
- A call that fails has `isError` and a problem: `code`, `message`, `hint` and `details`, as
  [on the command line](errors.md). When no engine can search, it also has `error`
  (`qmd_not_available`), `next_steps` and `fallback_sessions`.
- Long calls tell how far they are to clients that ask for progress. A number of seconds is counted;
  the message says what is done.
- `skip_permissions` and `trust` are refused unless the user allows them in the
  [settings](config.md) (`[mcp]`). So is a fork or a clone of a worker that skips permissions.
"""


def reference() -> str:
    return "\n".join([_HEAD, *map(_section, TOOLS)])


def _section(tool: Tool) -> str:
    rows = "\n".join(_rows(input_schema(tool.arguments)))
    table = f"| argument | type | default | meaning |\n|---|---|---|---|\n{rows}\n\n"
    return (
        f"## {tool.name}\n\n{_wrapped(tool.description)}\n\n{_EFFECTS[tool.effect]}\n\n"
        f"{table if rows else ''}"
        f"{_wrapped(f'Answers: {_fields(output_schema(tool.result))}.')}\n"
    )


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _rows(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, one in schema["properties"].items():
        needed = name in schema["required"]
        told = "needed" if needed else _default(one.get("default"))
        meaning = one["description"].removesuffix(".")
        yield f"| `{prefix}{name}` | {_type(one)} | {told} | {meaning[:1].lower()}{meaning[1:]} |"
        inner = one.get("items", one)
        if "properties" in inner:
            yield from _rows(inner, f"{prefix}{name}{'[]' if inner is not one else ''}.")


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return "`true`" if value else ""
    if isinstance(value, int | float):
        return f"`{value:g}`"
    return f"`{value}`" if value else ""


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if schema["type"] == "array":
        return f"list ({_type(schema['items'])})"
    kind: str = schema["type"]
    name = _TYPES.get(kind, kind)
    if "maximum" in schema:
        return f"{name}, {schema['minimum']:g} to {schema['maximum']:g}"
    return f"{name}, from {schema['minimum']:g}" if "minimum" in schema else name


def _fields(schema: dict[str, Any]) -> str:
    told: list[str] = []
    for name, one in schema["properties"].items():
        inner = next(filter(None, map(_object, one.get("anyOf", [one]))), None)
        names = ", ".join(f"`{field}`" for field in inner["properties"]) if inner else ""
        told.append(f"`{name}` ({names})" if names else f"`{name}`")
    return ", ".join(told)


def _object(schema: dict[str, Any]) -> dict[str, Any] | None:
    inner = schema.get("items", schema)
    return inner if "properties" in inner else None


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
