-- How far an installation is with its first steps: whether it has few sensors, a client, a linked sensor, and one that was heard.
SELECT
    (SELECT count(*) FROM (SELECT 1 FROM sensors_sensor LIMIT %s) AS first_sensors),
    EXISTS (SELECT 1 FROM sensors_client),
    EXISTS (SELECT 1 FROM sensors_sensorclient),
    EXISTS (
        SELECT 1 FROM sensors_sensorclient
        JOIN sensors_sensorstate ON sensors_sensorstate.sensor_id = sensors_sensorclient.sensor_id
        WHERE sensors_sensorstate.seen_at IS NOT NULL
    )
