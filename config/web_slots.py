def web_slots(concurrency: int) -> dict[str, int]:
    """Return the calls of one web process at once, by kind: none of them can keep out another."""
    return {
        "api": concurrency,
        "large": max(1, concurrency // 8),
        "pages": max(2, concurrency // 4),
        "sign_in": 2,
        "metrics": 1,
    }
