-- A dead or cancelled message that a newer one of its key has followed never comes back: looked at once, then settled.
-- A list is news of each connection that it names.
UPDATE notifications_delivery
SET is_final = true
WHERE endpoint_id = %s AND status IN ('dead', 'cancelled') AND NOT is_final AND (
    EXISTS (
        SELECT 1 FROM notifications_delivery AS newer
        WHERE newer.subject = notifications_delivery.subject AND newer.id > notifications_delivery.id
            AND newer.endpoint_id = notifications_delivery.endpoint_id AND newer.family = notifications_delivery.family
    )
    OR family = 'connection' AND EXISTS (
        SELECT 1 FROM notifications_listedsubject AS listed
        WHERE listed.subject = notifications_delivery.subject AND listed.delivery_id > notifications_delivery.id
            AND listed.endpoint_id = notifications_delivery.endpoint_id
    )
)
