UPDATE sensors_sensorstate SET lost_at = %s, check_at = %s WHERE sensor_id = %s
