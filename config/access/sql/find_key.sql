SELECT id, name, kind, subject, scopes, digest, expires_at, ended_at
FROM records_accesskey
WHERE prefix = %s
