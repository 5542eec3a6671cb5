"""Send what is owed: claim, attempt, record."""


def send_once() -> bool:
    """Wake this process's sender; there is never more to do at once."""
    # Only a process that sends needs the HTTP client, which takes a third of a second to import.
    from notifications.sending.sender import poke

    poke()
    return False
