-- Parts of states that no version has any more. One that is written at this moment is touched, and stays.
DELETE FROM workflows_body AS body
WHERE body.touched_at < statement_timestamp() - interval '1 day'
    AND NOT EXISTS (
        SELECT FROM (
            SELECT unnest(string_to_array(bodies, ' ')) AS digest FROM workflows_version WHERE bodies <> ''
        ) AS used
        WHERE used.digest = body.digest
    )
