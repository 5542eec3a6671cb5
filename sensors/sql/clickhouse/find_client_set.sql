SELECT made, records
FROM client_sensors
WHERE client_id = %(client)s AND made >= %(since)s AND sensor_id = ''
ORDER BY made DESC
LIMIT 1
