"""An app that the drill of sessions adds to the product: handlers that do what the records of a session say."""
