"""Record the examples of the OpenAPI document anew, on SQLite: `python -m tests.record_examples`."""

import os
import sys
from pathlib import Path

import pytest

RECORD = "RECORD_EXAMPLES"

if __name__ == "__main__":
    os.environ |= {RECORD: "1", "TEST_PROFILE": "embedded"}
    tests = Path(__file__).resolve().parent.rglob("api/test_examples.py")
    sys.exit(pytest.main(["-q", *sorted(map(str, tests))]))
