INSERT INTO signals (sensor_id, at, at_ms, id, data, received_at, received_ms, version) VALUES
