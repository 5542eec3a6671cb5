from dataclasses import fields
from pathlib import Path

import pytest
from django.core.management import call_command

from config.environment.document import render_configuration
from config.environment.table import Environment, variable_of

TOP = Path(__file__).resolve().parents[3]


class TestRenderConfiguration:
    def test_the_page_of_the_documentation_is_what_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("show_configuration")
        kept = (TOP / "docs" / "configuration.md").read_text()
        assert kept == capsys.readouterr().out, "run: python manage.py show_configuration > docs/configuration.md"

    def test_every_variable_has_a_row_with_its_rule(self) -> None:
        page = render_configuration()
        for declared in fields(Environment):
            variable = variable_of(declared)
            assert f"| `{variable.name}`" in page
            assert variable.rule.words in page
