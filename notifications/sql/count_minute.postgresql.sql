INSERT INTO notifications_eventminute (minute, type, outcome, count)
SELECT * FROM unnest(%b::timestamptz[], %b::text[], %b::text[], %b::bigint[])
ON CONFLICT (minute, type, outcome) DO UPDATE SET count = notifications_eventminute.count + excluded.count
