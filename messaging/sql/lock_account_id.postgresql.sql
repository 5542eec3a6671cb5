SELECT pg_advisory_xact_lock(hashtextextended('messaging.account:' || %s, 0))
