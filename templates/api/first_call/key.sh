export KEY=$(.venv/bin/python manage.py create_key first-call \
    --scope registry:read --scope registry:write --scope signals:write --scope history:read)
