-- Lock the state rows in order of id, as the ingest does, however many there are; only their number leaves the database.
WITH locked AS (
    SELECT state.sensor_id
    FROM sensors_sensorstate AS state
    WHERE state.sensor_id IN (SELECT id FROM sensors_importid)
    ORDER BY state.sensor_id
    FOR NO KEY UPDATE
)
SELECT count(*) FROM locked
