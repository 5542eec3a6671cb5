SELECT DISTINCT partition
FROM system.parts
WHERE database = currentDatabase() AND table = 'client_sensors' AND active
