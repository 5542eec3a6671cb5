INSERT INTO notifications_event (type, subject, payload, at, correlation_id) VALUES (%s, %s, %s, %s, %s)
