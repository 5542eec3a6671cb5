SELECT clock_timestamp(), coalesce((SELECT ahead_ms FROM sensors_steadyclock WHERE id = 1), 0)
