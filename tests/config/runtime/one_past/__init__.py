"""Which test goes one past each bound of the table."""

from tests.config.runtime.one_past.config import CONFIG
from tests.config.runtime.one_past.parties import PARTIES
from tests.config.runtime.one_past.workflows import WORKFLOWS

ONE_PAST = CONFIG | PARTIES | WORKFLOWS
"""By file, the test that goes one past each row of the table."""
