INSERT INTO sensors_signalpage (sensor_id, number, digests) VALUES (%s, %s, %s)
ON CONFLICT (sensor_id, number) DO UPDATE SET digests = excluded.digests
