INSERT INTO sensors_sensorclient (sensor_id, client_id) SELECT * FROM unnest(%b::text[], %b::bigint[])
