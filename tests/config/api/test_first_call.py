"""The page “first call”: public, in both languages, with the address of the server that shows it."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils.html import escape

from config.api.first_call import BLOCKS, read_block
from tests.api_document import document

PAGE = "/api/v1/docs/first-call/"


@pytest.fixture
def page(client: Client) -> str:
    answer = client.get(PAGE)
    assert answer.status_code == 200
    return answer.content.decode()


def test_shows_every_block_of_code(page: str) -> None:
    for name in BLOCKS:
        assert escape(read_block(name)) in page


def test_its_commands_call_the_server_that_shows_it(client: Client, settings: Any) -> None:
    settings.PUBLIC_URL = urlsplit("https://postern.example/")
    page = client.get(PAGE).content.decode()
    assert "https://postern.example/api/v1/signals/" in page
    assert "127.0.0.1:8000" not in page


def test_speaks_russian(client: Client) -> None:
    page = client.get(PAGE, headers={"Accept-Language": "ru"}).content.decode()
    assert "Первый вызов за пять минут" in page
    assert '<html lang="ru">' in page


def test_is_shown_by_the_documentation_and_shows_it(page: str) -> None:
    assert f"]({PAGE})" in document()["info"]["description"]
    assert 'href="/api/v1/docs/"' in page


def test_loads_nothing_from_elsewhere_and_runs_nothing(client: Client) -> None:
    answer = client.get(PAGE)
    assert "<script" not in answer.content.decode()
    assert "http" not in answer.headers["Content-Security-Policy"]
