-- Claim an idempotency key for this call, in the transaction of its effect. A repeat that runs at the same time waits
-- here for the first one's end: if that committed, nothing is returned and its answer can be read; if it rolled back,
-- this call is the first. What is older than a day counts as not there.
INSERT INTO records_idempotencyrecord (owner, key, digest, created_at)
VALUES (%(owner)s, %(key)s, %(digest)s, %(at)s)
ON CONFLICT (owner, key) DO UPDATE SET
    digest = excluded.digest,
    status = NULL,
    answer = NULL,
    created_at = excluded.created_at
WHERE records_idempotencyrecord.created_at < %(forgotten)s
RETURNING id
