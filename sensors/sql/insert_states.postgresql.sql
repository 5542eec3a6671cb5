INSERT INTO sensors_sensorstate (sensor_id, last_id) SELECT id, '' FROM unnest(%b::text[]) AS fresh (id)
