INSERT INTO records_logentry AS known (at, level, kind, subject, template, data, text, correlation_id, fold, count)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (fold) WHERE NOT (fold = '') DO UPDATE SET count = known.count + excluded.count
