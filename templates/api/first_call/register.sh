curl -sS -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
     -d '{"name": "my program", "url": "http://127.0.0.1:9000/"}' \
     http://127.0.0.1:8000/api/v1/clients/ | tee client.json
export CLIENT=$(python3 -c 'import json; print(json.load(open("client.json"))["id"])')
export SECRET=$(python3 -c 'import json; print(json.load(open("client.json"))["secret"])')

curl -sS -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \
     -d "{\"id\": \"0xA\", \"address\": \"1 Gate Street\", \"clients\": [$CLIENT]}" \
     http://127.0.0.1:8000/api/v1/sensors/
