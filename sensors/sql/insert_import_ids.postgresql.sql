INSERT INTO sensors_importid (id)
SELECT unnest(%b::text[])
