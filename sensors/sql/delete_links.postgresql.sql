DELETE FROM sensors_sensorclient AS link
USING unnest(%b::text[], %b::bigint[]) AS gone (sensor_id, client_id)
WHERE link.sensor_id = gone.sensor_id AND link.client_id = gone.client_id
