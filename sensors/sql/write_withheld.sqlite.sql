UPDATE sensors_sensorclient SET is_loss_untold = %s, tell_at = %s WHERE id = %s
