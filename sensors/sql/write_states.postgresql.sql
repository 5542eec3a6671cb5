-- Write the locked rows where they lie. A time that only the fold sets stays as it is where the fold did not set it.
UPDATE sensors_sensorstate AS state
SET
    value = fresh.value,
    changed_at = coalesce(to_timestamp(fresh.changed_at::float8 / 1000), state.changed_at),
    last_at = to_timestamp(fresh.last_at::float8 / 1000),
    last_id = fresh.last_id,
    seen_at = to_timestamp(fresh.seen_at::float8 / 1000),
    lost_at = to_timestamp(fresh.lost_at::float8 / 1000),
    check_at = coalesce(to_timestamp(fresh.check_at::float8 / 1000), state.check_at),
    heard_at = coalesce(to_timestamp(fresh.heard_at::float8 / 1000), state.heard_at),
    recent = fresh.recent,
    page = fresh.page
FROM unnest(
    %b::tid[], %b::text[], %b::bytea[], %b::text::smallint[], %b::text::bigint[], %b::text::bigint[],
    %b::text::bigint[], %b::text::bigint[], %b::text::bigint[], %b::text::bigint[], %b::text::integer[]
) AS fresh (place, last_id, recent, value, changed_at, last_at, seen_at, lost_at, check_at, heard_at, page)
WHERE state.ctid = fresh.place
