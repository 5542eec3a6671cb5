DROP TABLE pg_temp.sensors_importid
