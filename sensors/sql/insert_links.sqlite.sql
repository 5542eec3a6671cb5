INSERT INTO sensors_sensorclient (sensor_id, client_id, is_loss_untold) VALUES (%s, %s, %s)
