"""Test support for plug-ins: contract suites, an isolated home, fake model servers.

The pytest fixtures are in `prong.testing.plugin`, which pytest loads automatically once prong is
installed. Nothing else in prong imports this package.
"""
