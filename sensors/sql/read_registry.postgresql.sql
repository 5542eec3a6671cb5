-- What the fold needs of the registry: who is inactive (few: a partial index), and the timeouts of those named second.
SELECT id, active, heartbeat_timeout FROM sensors_sensor WHERE NOT active AND id = ANY(%b::text[])
UNION
SELECT id, active, heartbeat_timeout FROM sensors_sensor WHERE id = ANY(%b::text[])
