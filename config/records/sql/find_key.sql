SELECT id, name, kind, subject, scopes, prefix, digest, created_at, expires_at, ended_at
FROM records_accesskey
WHERE prefix = %s
