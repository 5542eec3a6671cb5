-- What follows from `moved`, the instance whose head has come to a new version. Parts are apart by an empty line: those
-- that have nothing to write are left out, for each of them costs, also when it writes nothing.

body AS (
    INSERT INTO workflows_body (digest, content)
    SELECT key, value FROM moved, json_each_text(%(bodies)s::json) ORDER BY key
    ON CONFLICT (digest) DO UPDATE SET touched_at = statement_timestamp()
)

version AS (
    INSERT INTO workflows_version (
        instance_id, number, parent, cause, actor, at, status, revision_id, correlation_id, skeleton, bodies, taken_key
    )
    SELECT id, %(number)s, %(parent)s, %(cause)s, %(actor)s, %(at)s, %(status)s, %(revision)s, %(chain)s, %(skeleton)s,
        %(digests)s, %(taken_key)s
    FROM moved
)

item_closed AS (
    UPDATE workflows_work_item AS item
    -- As jsonb: of json, the whole text would be read again for each row.
    SET status = %(items_closed)s::jsonb ->> item.local, closed_by = %(number)s, due_at = NULL, fence = item.fence + 1
    FROM moved
    -- One by one, not as a join: the planner would read all open work, or all that the instance ever had.
    WHERE item.status = 'open' AND item.id = ANY(ARRAY(
        SELECT (SELECT id FROM workflows_work_item WHERE instance_id = %(instance)s AND local = closed)
        FROM jsonb_object_keys(%(items_closed)s::jsonb) AS closed
    ))
)

item_toggled AS (
    UPDATE workflows_work_item AS item
    SET due_at = CASE WHEN due_at IS NULL THEN %(at)s END, fence = item.fence + 1
    FROM moved
    WHERE item.status = 'open' AND item.id = ANY(ARRAY(
        SELECT (SELECT id FROM workflows_work_item WHERE instance_id = %(instance)s AND local = toggled)
        FROM json_array_elements_text(%(items_toggled)s::json) AS toggled
    ))
)

item_opened AS (
    INSERT INTO workflows_work_item (
        instance_id, local, element, name, kind, status, topic, inputs, since, opened_by, due_at, fence, worker,
        last_error, correlation_id, detail, assignee, owner, deadline_at, follow_up_at, priority, notes, search,
        notice_at, noticed
    )
    SELECT moved.id, local, element, name, kind, 'open', topic, inputs, since, %(number)s, due_at, 0, '', '', %(chain)s,
        detail, assignee, '', deadline_at, follow_up_at, priority, notes, search, notice_at, ''
    FROM moved, json_to_recordset(%(items)s::json)
        AS item (local text, element text, name text, kind text, topic text, inputs text, since timestamptz,
                 due_at timestamptz, detail text, assignee text, deadline_at timestamptz, follow_up_at timestamptz,
                 priority smallint, notes text, search text, notice_at timestamptz)
    RETURNING id, local
)

candidate AS (
    INSERT INTO workflows_candidate (item_id, kind, name, is_waiting, deadline_at, priority)
    SELECT item_opened.id, fresh.kind, fresh.name, fresh.is_waiting, fresh.deadline_at, fresh.priority
    FROM item_opened JOIN json_to_recordset(%(candidates)s::json)
        AS fresh (local text, kind text, name text, is_waiting boolean, deadline_at timestamptz, priority smallint)
        ON fresh.local = item_opened.local
)

candidate_gone AS (
    DELETE FROM workflows_candidate USING moved
    WHERE item_id = ANY(ARRAY(
        SELECT (SELECT id FROM workflows_work_item WHERE instance_id = %(instance)s AND local = gone)
        FROM json_array_elements_text(%(candidates_gone)s::json) AS gone
    ))
)

timer_gone AS (
    DELETE FROM workflows_timer USING moved
    WHERE instance_id = moved.id AND local IN (SELECT json_array_elements_text(%(timers_gone)s::json))
)

timer AS (
    INSERT INTO workflows_timer (instance_id, local, element, due_at, fence)
    SELECT moved.id, local, element, due_at, 0
    FROM moved, json_to_recordset(%(timers)s::json) AS timer (local text, element text, due_at timestamptz)
    ON CONFLICT (instance_id, local) DO UPDATE SET due_at = excluded.due_at, fence = workflows_timer.fence + 1
)

subscription_gone AS (
    DELETE FROM workflows_subscription USING moved
    WHERE instance_id = moved.id AND local IN (SELECT json_array_elements_text(%(subscriptions_gone)s::json))
)

subscription AS (
    INSERT INTO workflows_subscription (
        instance_id, local, element, definition, revision, kind, name, record, after_position
    )
    SELECT moved.id, local, element, definition, revision, kind, name, %(record)s, %(position)s
    FROM moved, json_to_recordset(%(subscriptions)s::json)
        AS fresh (local text, element text, definition text, revision integer, kind text, name text)
)

term_gone AS (
    DELETE FROM workflows_search_term USING moved
    WHERE instance_id = moved.id AND term = ANY(ARRAY(SELECT json_array_elements_text(%(terms_gone)s::json)))
)

term AS (
    INSERT INTO workflows_search_term (instance_id, term)
    SELECT moved.id, fresh FROM moved, json_array_elements_text(%(terms)s::json) AS fresh
    ON CONFLICT (term, instance_id) DO NOTHING
)

effect AS (
    INSERT INTO workflows_effect (
        instance_id, version, local, kind, element, name, inputs, status, at, left_at, due_at, fence, correlation_id
    )
    SELECT moved.id, %(number)s, local, kind, element, name, inputs, effect.status, %(at)s, left_at, due_at, 0, %(chain)s
    FROM moved, json_to_recordset(%(effects)s::json)
        AS effect (local text, kind text, element text, name text, inputs text, status text, left_at timestamptz,
                   due_at timestamptz)
)

visit AS (
    INSERT INTO workflows_step_visits (at, visits) SELECT %(at)s, %(visits)s FROM moved
)

heard AS (
    INSERT INTO workflows_shadow_input (shadow, instance, version, body)
    SELECT shadow.id, moved.id, %(number)s, %(heard)s
    FROM moved, workflows_shadow AS shadow
    WHERE shadow.id = %(shadow)s AND shadow.hears_until > statement_timestamp()
)
