UPDATE messaging_message SET moving_from = '', arrived_at = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now') WHERE id = %s
