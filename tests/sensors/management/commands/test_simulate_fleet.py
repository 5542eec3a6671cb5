import pytest
from django.core.management import CommandError, call_command

from tests.servers.private_server import HOST, find_free_port


def test_a_server_that_does_not_answer_is_named_in_one_line() -> None:
    url = f"http://{HOST}:{find_free_port()}"
    with pytest.raises(CommandError, match=f"{url} takes no signals: .*refused"):
        call_command("simulate_fleet", "--url", url, "--key", "any", "--no-register", "--rate", "4", "--seconds", "1")
