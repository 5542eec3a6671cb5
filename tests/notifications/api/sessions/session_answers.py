"""What a call about sessions answers when it fails."""

from typing import Any


def failed(answer: Any) -> tuple[int, str, int]:
    return answer.status_code, answer.json()["code"], answer.json()["data"]["session_code"]
