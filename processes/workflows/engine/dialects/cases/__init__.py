"""CMMN files as other tools write them; `files` is the way in."""
