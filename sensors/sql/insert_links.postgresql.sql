INSERT INTO sensors_sensorclient (sensor_id, client_id, is_loss_untold)
SELECT * FROM unnest(%b::text[], %b::bigint[], %b::boolean[])
