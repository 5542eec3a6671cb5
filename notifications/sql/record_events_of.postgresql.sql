-- Part of a statement that also writes their cause: no row of {cause}, no event. The order of the list becomes that of
-- the ids.
INSERT INTO notifications_event (type, subject, payload, at, correlation_id)
SELECT event ->> 'type', event ->> 'subject', (event -> 'payload')::jsonb, %(at)s, %(chain)s
FROM {cause}, json_array_elements(%(events)s::json) WITH ORDINALITY AS fresh (event, place)
ORDER BY place
