INSERT INTO notifications_listedsubject (delivery_id, endpoint_id, subject, is_open) VALUES (%s, %s, %s, true)
