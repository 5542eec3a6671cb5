INSERT INTO sensors_sensorclient (sensor_id, client_id) VALUES (%s, %s)
