-- The id is that of the outbox row, so the copies of an event are equal and any one may stay.
CREATE TABLE IF NOT EXISTS events
(
    sensor_id String,
    at DateTime('UTC'),
    at_ms UInt16,
    id UInt64,
    type String,
    recorded_at DateTime('UTC'),
    recorded_ms UInt16,
    correlation_id String,
    payload String
)
ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(at)
ORDER BY (sensor_id, at, at_ms, id)
