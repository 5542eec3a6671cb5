-- How far a follower has read, if it ever has, and how far there is to read.
SELECT
    (SELECT position FROM notifications_follower WHERE name = %s),
    (SELECT position FROM notifications_sequencer WHERE id = 1)
