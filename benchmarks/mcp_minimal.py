"""The least that a server on the same SDK can be: one tool. `prong mcp` is measured against it."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("minimal")


@server.tool()
def hello(name: str) -> str:
    """Say hello."""
    return f"Hello, {name}."


if __name__ == "__main__":
    server.run("stdio")
