-- The sensors that a client had when the set was made. A row without a sensor says that the set is whole, and how many
-- records of its links there were then.
CREATE TABLE IF NOT EXISTS client_sensors
(
    day UInt32,
    client_id UInt64,
    made UInt64,
    sensor_id String,
    records UInt64
)
ENGINE = MergeTree()
PARTITION BY day
ORDER BY (client_id, made, sensor_id)
