INSERT INTO events (sensor_id, at, at_ms, id, type, recorded_at, recorded_ms, correlation_id, payload) VALUES
