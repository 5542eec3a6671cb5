INSERT INTO workflows_visit_total (revision_id, span, at, element, band, count, seconds)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (revision_id, span, at, element, band) DO UPDATE
SET count = workflows_visit_total.count + excluded.count, seconds = workflows_visit_total.seconds + excluded.seconds
