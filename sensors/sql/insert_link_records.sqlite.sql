INSERT INTO sensors_linkrecord (at, sensor_id, client_id, is_linked) VALUES (%s, %s, %s, %s)
