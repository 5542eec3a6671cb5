UPDATE sensors_sensorclient AS link
SET is_loss_untold = fresh.is_loss_untold, tell_at = fresh.tell_at
FROM unnest(%b::boolean[], %b::timestamptz[], %b::bigint[]) AS fresh (is_loss_untold, tell_at, id)
WHERE link.id = fresh.id
