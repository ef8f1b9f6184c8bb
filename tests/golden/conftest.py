"""The home and the sample sessions of the command-line tests."""

from tests.cli.conftest import samples as samples  # noqa: PLC0414 -- shared fixtures
from tests.cli.conftest import shell as shell  # noqa: PLC0414
from tests.cli.conftest import shop as shop  # noqa: PLC0414
