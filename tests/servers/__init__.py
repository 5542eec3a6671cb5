"""Private PostgreSQL, RabbitMQ, Redis and ClickHouse servers for the tests."""
