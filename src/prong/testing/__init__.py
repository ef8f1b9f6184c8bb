"""What tests of prong and of its plug-ins share: an isolated home, fake model servers, real CLIs.

The pytest fixtures are in `prong.testing.plugin`; pytest loads it by itself once prong is
installed. Nothing here imports the rest of prong, and nothing of prong imports this.
"""
