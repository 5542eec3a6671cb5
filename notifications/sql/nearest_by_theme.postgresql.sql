-- For each theme, how many seconds from now its nearest saved session is to be repeated: one look into the index
-- `session_theme_to_repeat` for each of them.
SELECT
    theme.number,
    theme.opened_at IS NOT NULL,
    extract(epoch FROM (
        SELECT due_at FROM notifications_repeatsession AS session
        WHERE session.theme_id = theme.number AND session.status = 'saved'
        ORDER BY due_at, save_number LIMIT 1
    ) - statement_timestamp())
FROM notifications_theme AS theme
ORDER BY 3, 1
