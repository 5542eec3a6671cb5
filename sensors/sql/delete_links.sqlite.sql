DELETE FROM sensors_sensorclient WHERE sensor_id = %s AND client_id = %s
