SELECT * FROM messaging_message WHERE id = %s FOR NO KEY UPDATE
