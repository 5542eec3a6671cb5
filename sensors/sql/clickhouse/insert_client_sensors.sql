INSERT INTO client_sensors (day, client_id, made, sensor_id, records) VALUES
