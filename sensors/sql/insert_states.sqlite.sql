INSERT INTO sensors_sensorstate (sensor_id, last_id) VALUES (%s, '')
