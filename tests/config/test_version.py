import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from drf_spectacular.settings import spectacular_settings

from config.runtime.metrics import render_metrics
from config.version import VERSION

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
@pytest.mark.embedded
class TestVersion:
    def test_the_schema_the_metrics_and_the_command_say_the_same(self, client: Client) -> None:
        printed = subprocess.run(
            [sys.executable, TOP / "manage.py", "--version"], capture_output=True, text=True, check=True
        )
        schema = client.get("/api/v1/schema/", headers={"accept": "application/json"}).json()
        assert printed.stdout == f"{VERSION}\n"
        assert schema["info"]["version"] == spectacular_settings.VERSION == VERSION
        assert f'postern_info{{version="{VERSION}"}} 1.0' in render_metrics().decode()

    def test_it_is_the_newest_in_the_list_of_changes(self) -> None:
        newest = re.search(r"^## (.*)$", (TOP / "CHANGELOG.md").read_text(), re.MULTILINE)
        assert newest is not None
        assert newest[1] == VERSION
