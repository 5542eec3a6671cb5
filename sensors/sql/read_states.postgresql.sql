-- Read the locked rows. A statement of its own: in that of the lock a registry row that was changed while it waited
-- would still be the old one, and signals would reach a sensor that has just been deactivated.
SELECT
    state.sensor_id,
    sensor.heartbeat_timeout,
    state.value,
    (extract(epoch FROM state.changed_at) * 1000)::bigint,
    (extract(epoch FROM state.last_at) * 1000)::bigint,
    state.last_id,
    (extract(epoch FROM state.seen_at) * 1000)::bigint,
    (extract(epoch FROM state.lost_at) * 1000)::bigint,
    (extract(epoch FROM state.check_at) * 1000)::bigint,
    sensor.active
FROM sensors_sensorstate AS state
JOIN sensors_sensor AS sensor ON sensor.id = state.sensor_id
WHERE state.sensor_id = ANY(%b)
