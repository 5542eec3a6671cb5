-- Lock and read the state rows of a batch in order of id, so that two consumers never wait for each other in a circle.
-- Where a row lies cannot change while it is locked, so the write finds it without an index. The columns are those of
-- the fold's `State`; what the fold only ever sets is not read.
SELECT
    sensor_id,
    0 AS timeout,
    value,
    NULL::bigint AS changed_at,
    (date_part('epoch', last_at) * 1000)::bigint,
    last_id,
    (date_part('epoch', seen_at) * 1000)::bigint,
    (date_part('epoch', lost_at) * 1000)::bigint,
    NULL::bigint AS check_at,
    NULL::bigint AS heard_at,
    ctid,
    recent,
    page
FROM sensors_sensorstate
WHERE sensor_id = ANY(%b::text[])
ORDER BY sensor_id
FOR NO KEY UPDATE
