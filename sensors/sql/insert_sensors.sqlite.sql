INSERT INTO sensors_sensor (id, address, notes, active, heartbeat_timeout, open_limit, muted_until)
VALUES (%s, %s, %s, %s, %s, %s, %s)
