"""Execution of cases: plan items go through the life cycle of CMMN 1.1, in the same state as tokens of processes."""
