"""What tests of a plug-in need: contract suites, an isolated home, fake model servers.

The pytest fixtures are in `prong.testing.plugin`; pytest loads it by itself once prong is
installed. Nothing else of prong imports this.
"""
