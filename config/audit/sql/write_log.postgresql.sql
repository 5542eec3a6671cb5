-- An entry with a fold is counted on the row that is there; without one it stands alone.
INSERT INTO records_logentry AS known (
    at, level, kind, subject, template, data, text, correlation_id, fold, count
)
SELECT at, level, kind, subject, template, data::jsonb, text, correlation_id, fold, count
FROM unnest(
    %b::timestamptz[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[],
    %b::int[]
) WITH ORDINALITY AS fresh (at, level, kind, subject, template, data, text, correlation_id, fold, count, place)
ORDER BY place
ON CONFLICT (fold) WHERE NOT (fold = '') DO UPDATE SET count = known.count + excluded.count
