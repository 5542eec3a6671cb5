UPDATE sensors_sensorstate SET check_at = %s WHERE sensor_id = %s
