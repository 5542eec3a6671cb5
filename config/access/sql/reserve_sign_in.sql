-- Count an attempt before its password is checked. One statement: parallel guesses queue on the row, so each of them
-- sees a number of its own. A window that has ended starts again at one; the count stops where it no longer matters.
INSERT INTO records_signinattempt (name, address, failures, window_ends_at)
VALUES (%(name)s, %(address)s, 1, %(ends_at)s)
ON CONFLICT (name, address) DO UPDATE SET
    failures = CASE
        WHEN records_signinattempt.window_ends_at <= %(at)s THEN 1
        WHEN records_signinattempt.failures > %(limit)s THEN records_signinattempt.failures
        ELSE records_signinattempt.failures + 1
    END,
    window_ends_at = CASE
        WHEN records_signinattempt.window_ends_at <= %(at)s THEN %(ends_at)s
        ELSE records_signinattempt.window_ends_at
    END
RETURNING id, failures, window_ends_at
