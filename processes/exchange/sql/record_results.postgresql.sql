UPDATE exchange_processmessage AS entry
SET result = said.result, error_text = said.error_text, error_code = said.error_code, prepared_at = said.at
FROM unnest(%b::text[], %b::text[], %b::bigint[], %b::timestamptz[], %b::bigint[])
    AS said (result, error_text, error_code, at, id)
WHERE entry.id = said.id
