-- Of the copies of a signal the one with the greatest version stays when parts are merged: the one received first.
CREATE TABLE IF NOT EXISTS signals
(
    sensor_id String,
    at DateTime('UTC'),
    at_ms UInt16,
    id String,
    data UInt8,
    received_at DateTime('UTC'),
    received_ms UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(at)
ORDER BY (sensor_id, at, at_ms, id)
