"""Fixtures of all tests. Those of `prong.testing` come with the installed package."""

pytest_plugins = ["tests.drivers.fixtures"]
