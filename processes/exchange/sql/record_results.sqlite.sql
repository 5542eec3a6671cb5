UPDATE exchange_processmessage SET result = %s, error_text = %s, error_code = %s, prepared_at = %s WHERE id = %s
