UPDATE sensors_sensor
SET address = %s, notes = %s, active = %s, heartbeat_timeout = %s, open_limit = %s, muted_until = %s
WHERE id = %s
