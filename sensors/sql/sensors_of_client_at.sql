-- A sensor whose first record after the time unlinks it was linked then, and the other way round; one without such a
-- record is as it was. One row comes also where the page is empty: the number of all sensors stands in each.
WITH changed AS (
    SELECT sensor_id, is_linked
    FROM (
        SELECT sensor_id, is_linked, row_number() OVER (PARTITION BY sensor_id ORDER BY at, id) AS place
        FROM sensors_linkrecord
        WHERE client_id = %(client)s AND at >= %(since)s
    ) AS ordered
    WHERE place = 1
), linked AS (
    SELECT sensor_id FROM changed WHERE NOT is_linked
    UNION ALL
    SELECT sensor_id FROM sensors_sensorclient
    WHERE client_id = %(client)s AND sensor_id NOT IN (SELECT sensor_id FROM changed)
)
SELECT page.sensor_id, counted.total
FROM (SELECT count(*) AS total FROM linked) AS counted
LEFT JOIN (
    SELECT sensor_id FROM linked WHERE sensor_id > %(after)s ORDER BY sensor_id LIMIT %(limit)s
) AS page ON true
ORDER BY page.sensor_id
