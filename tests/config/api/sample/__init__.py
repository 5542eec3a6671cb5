"""A tiny API over Django's groups, which shows what the frame does for every view, and views that fail on purpose."""
