-- The row, if its database takes messages, and its event: one statement, hence one transaction.
WITH message AS (
    INSERT INTO messaging_message (
        enterprise_id, public_id, direction, database_id, device_id, subsystem_id, created_at, accepted_at, reply_to,
        correlation_id, size, digest, folder, token, moving_from, arrived_at, status, error_text, error_code,
        updated_at, setbacks, is_postponed
    )
    SELECT
        database.enterprise_id, %(id)s, 'request', database.id, %(device)s, %(subsystem)s, %(created_at)s,
        %(at)s, '', %(chain)s, %(size)s, %(digest)s, 'Messages', %(token)s, '', %(at)s, 'waiting', '', '',
        %(at)s, 0, false
    FROM messaging_exchangedatabase AS database
    WHERE database.id = %(database)s AND database.enterprise_id = %(enterprise)s AND database.active
    ON CONFLICT (enterprise_id, public_id) DO NOTHING
    RETURNING id
), event AS (
    {event_part}
)
SELECT id FROM message
