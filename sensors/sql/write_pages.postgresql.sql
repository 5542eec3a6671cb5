-- Over the oldest page of the sensor, once it has all of them. The state row is locked: nobody else writes its pages.
INSERT INTO sensors_signalpage (sensor_id, number, digests)
SELECT * FROM unnest(%b::text[], %b::smallint[], %b::bytea[])
ON CONFLICT (sensor_id, number) DO UPDATE SET digests = excluded.digests
