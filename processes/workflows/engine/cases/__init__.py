"""Cases: their items go through the life cycle of CMMN 1.1, in the same state as the tokens of processes."""
