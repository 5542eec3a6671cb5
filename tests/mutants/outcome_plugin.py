"""A plugin of pytest that writes down what failed, and of what: an import that fails notices nothing."""

import json
import os
from collections.abc import Generator
from typing import Any

import pytest

FILE_VARIABLE = "MUTANT_OUTCOMES"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
    yield
    # What is skipped has passed nobody's judgement: the row names a test that does not run on its engine.
    outcome = "passed" if call.excinfo is None else call.excinfo.typename
    if call.excinfo is not None and outcome == "Failed" and str(call.excinfo.value).startswith("Timeout"):
        outcome = "Timeout"
    if call.when == "call" or call.excinfo is not None:
        _write(item.nodeid, call.when, outcome)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(report.nodeid, "collect", "error")


def _write(test: str, when: str, outcome: str) -> None:
    with open(os.environ[FILE_VARIABLE], "a") as file:
        file.write(json.dumps([test, when, outcome]) + "\n")
