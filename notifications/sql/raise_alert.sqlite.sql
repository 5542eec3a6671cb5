INSERT INTO notifications_alert AS known (
    kind, severity, subject, title, detail, correlation_id, status, count, first_at, last_at, due_at, muted_until,
    fence, acknowledged_by, resolved_by, resolution
)
VALUES (
    %(kind)s, %(severity)s, %(subject)s, %(title)s, %(detail)s, %(chain)s, 'open', 1,
    strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),
    (
        SELECT max(muted_until) FROM notifications_alert
        WHERE kind = %(kind)s AND subject = %(subject)s
            AND muted_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')
    ),
    0, '', '', ''
)
ON CONFLICT (kind, subject) WHERE NOT (status = 'resolved') DO UPDATE SET
    count = known.count + 1,
    last_at = excluded.last_at,
    severity = excluded.severity,
    title = excluded.title,
    detail = excluded.detail
RETURNING id, count
