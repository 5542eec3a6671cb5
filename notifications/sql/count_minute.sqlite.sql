INSERT INTO notifications_eventminute (minute, type, outcome, count)
VALUES (%s, %s, %s, %s)
ON CONFLICT (minute, type, outcome) DO UPDATE SET count = count + excluded.count
