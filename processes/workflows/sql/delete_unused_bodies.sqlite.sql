DELETE FROM workflows_body
WHERE touched_at < strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 day')
    AND digest NOT IN (
        SELECT used.value
        FROM workflows_version AS version, json_each('["' || replace(version.bodies, ' ', '","') || '"]') AS used
        WHERE version.bodies <> ''
    )
