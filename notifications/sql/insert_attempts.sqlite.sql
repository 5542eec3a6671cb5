INSERT INTO notifications_attempt (delivery_id, at, url, status, duration_ms, error, answer)
VALUES (%s, %s, %s, %s, %s, %s, %s)
