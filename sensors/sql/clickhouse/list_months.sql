SELECT DISTINCT table, partition
FROM system.parts
WHERE database = currentDatabase() AND table IN ('signals', 'events') AND active
ORDER BY table, partition
