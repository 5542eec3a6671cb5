"""Repeat sessions: a durable "try this again later" for anybody. The data flow is in README.md."""
