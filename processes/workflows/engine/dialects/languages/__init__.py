"""The expression languages of other engines, read and written in ours."""
