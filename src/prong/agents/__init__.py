"""The built-in agents. Each is a package with a `store` module; see `prong.plugins`."""
