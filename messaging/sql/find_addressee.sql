SELECT 1 FROM messaging_exchangedatabase WHERE id = %s AND enterprise_id = %s AND active
