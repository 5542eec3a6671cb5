-- Of each sensor the newest event of each type before a time: one look into an index for each. Most events are changes of
-- the state, and the index of the others is named by the list of their types.
SELECT event.*
FROM (
    SELECT (
        SELECT last.id
        FROM sensors_storedevent AS last
        WHERE last.sensor_id = wanted.id AND last.at < %(before)s AND last.type = 'sensor.state_changed'
        ORDER BY last.at DESC, last.id DESC
        LIMIT 1
    ) AS id
    FROM unnest(%(sensors)s::text[]) AS wanted (id)
    WHERE 'sensor.state_changed' = ANY(%(types)s::text[])
    UNION ALL
    SELECT (
        SELECT last.id
        FROM sensors_storedevent AS last
        WHERE last.sensor_id = wanted.id AND last.at < %(before)s AND last.type = kind.type
            AND last.type IN ('sensor.connection_lost', 'sensor.connection_restored', 'sensor.loss_withdrawn')
        ORDER BY last.at DESC, last.id DESC
        LIMIT 1
    )
    FROM unnest(%(sensors)s::text[]) AS wanted (id)
    CROSS JOIN unnest(%(types)s::text[]) AS kind (type)
) AS found
JOIN sensors_storedevent AS event ON event.id = found.id
