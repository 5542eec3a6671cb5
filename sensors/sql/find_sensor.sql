-- Whether there is such a sensor; for a client that asks, whether it is one of its own.
SELECT 1
FROM sensors_sensor
WHERE id = %(sensor)s AND (
    %(owner)s IS NULL
    OR EXISTS (SELECT 1 FROM sensors_sensorclient WHERE sensor_id = %(sensor)s AND client_id = %(owner)s)
)
