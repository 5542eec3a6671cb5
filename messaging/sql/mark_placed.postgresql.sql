UPDATE messaging_message SET moving_from = '', arrived_at = statement_timestamp() WHERE id = %s
