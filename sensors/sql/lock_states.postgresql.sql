-- Lock the state rows of a batch in order of id, so that two consumers never wait for each other in a circle.
SELECT 1 FROM sensors_sensorstate WHERE sensor_id = ANY(%b) ORDER BY sensor_id FOR NO KEY UPDATE
