INSERT INTO sensors_linkrecord (at, sensor_id, client_id, is_linked)
SELECT * FROM unnest(%b::timestamptz[], %b::text[], %b::bigint[], %b::boolean[])
