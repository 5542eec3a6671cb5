-- A repeat changes nothing; in order of the key, so that two writers of the same batch never wait in a circle.
INSERT INTO sensors_storedsignal (sensor_id, at, signal_id, data, received_at)
SELECT sensor_id, to_timestamp(at / 1000.0), signal_id, data, to_timestamp(received_at / 1000.0)
FROM unnest(%b::text[], %b::bigint[], %b::text[], %b::smallint[], %b::bigint[])
    WITH ORDINALITY AS fresh (sensor_id, at, signal_id, data, received_at, place)
ORDER BY sensor_id, at, signal_id, place
ON CONFLICT (sensor_id, at, signal_id) DO NOTHING
