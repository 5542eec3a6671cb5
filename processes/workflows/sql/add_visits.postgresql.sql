INSERT INTO workflows_visit_total (revision_id, span, at, element, band, count, seconds)
SELECT * FROM unnest(%b::bigint[], %b::text[], %b::timestamptz[], %b::text[], %b::smallint[], %b::bigint[], %b::float8[])
ON CONFLICT (revision_id, span, at, element, band) DO UPDATE
SET count = workflows_visit_total.count + excluded.count, seconds = workflows_visit_total.seconds + excluded.seconds
