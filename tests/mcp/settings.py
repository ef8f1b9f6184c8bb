"""What the user of these tests allows."""

from tests.cli.shell import Shell


def allow(shell: Shell, *wishes: str) -> None:
    config = shell.home.root / ".config/prong/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[mcp]\n" + "".join(f"allow_{wish} = true\n" for wish in wishes))
