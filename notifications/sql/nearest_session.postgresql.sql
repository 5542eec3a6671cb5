-- How many seconds from now the nearest saved session is to be repeated, and the nearest active one lapses; whether
-- the breaker of any theme is open.
SELECT
    extract(epoch FROM (
        SELECT due_at FROM notifications_repeatsession WHERE status = 'saved' ORDER BY due_at, save_number LIMIT 1
    ) - statement_timestamp()),
    extract(epoch FROM (
        SELECT due_at FROM notifications_repeatsession WHERE status = 'active' ORDER BY due_at LIMIT 1
    ) - statement_timestamp()),
    EXISTS (SELECT 1 FROM notifications_theme WHERE opened_at IS NOT NULL)
