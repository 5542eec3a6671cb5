SELECT * FROM messaging_message WHERE id = %s
