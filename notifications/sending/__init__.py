"""Send deliveries: claim them, make the attempt, record the outcome."""

import sys


def send_once() -> bool:
    """Wake this process's sender; there is never more to do at once."""
    # Only a process that sends needs the HTTP client, which takes a third of a second to import.
    from notifications.sending.sender import wake_sender

    wake_sender()
    return False


def stop_sending(grace: float) -> None:
    """Let what this process has under way end, if it ever sent anything."""
    sender = sys.modules.get("notifications.sending.sender")
    if sender is not None:
        sender.stop_sender(grace)
