curl -sS -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
     -d '{"sensor_id": "0xA", "data": 1}' http://127.0.0.1:8000/api/v1/signals/
curl -sS -H "Authorization: Bearer $KEY" http://127.0.0.1:8000/api/v1/sensors/0xA/
curl -sS -H "Authorization: Bearer $KEY" http://127.0.0.1:8000/api/v1/sensors/0xA/deliveries/
