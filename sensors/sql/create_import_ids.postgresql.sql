-- The ids that an import of a file will change, for `lock_import_states`; dropped right after it.
CREATE TEMPORARY TABLE sensors_importid (id text PRIMARY KEY)
