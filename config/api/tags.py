"""The groups of calls in the OpenAPI document, in the order in which a reader meets them."""

TAGS = {
    "signals": "What sensors send: the state of a door, 0 or 1.",
    "sensors": "The registry of sensors, one by one or as a table.",
    "clients": "Those that are notified about sensors, by webhooks that are signed with their secrets.",
    "history": "Signals and events of a period, by sensor or by client, as pages or as CSV.",
    "deliveries": "Every webhook with its attempts; one can be sent again.",
    "webhooks": "What Postern sends: a signed POST to the URL of a client or a theme.",
    "changes": "Who changed what in the registry, and the way back.",
    "alerts": "What staff must know of: acknowledge, mute, resolve.",
    "log": "What operators look up afterwards: log and statistics.",
    "trace": "Trace a request: what it caused, in every part of the system.",
    "enterprises": "Who exchanges messages: enterprises.",
    "subsystems": "Parts of an enterprise that devices belong to.",
    "devices": "Those that send messages to databases and fetch the replies, and their keys.",
    "databases": "ERP databases, and their keys.",
    "messages": "What a device sends, fetches and confirms, and the receipts.",
    "exchange": "The protocol of an ERP, API_1 to API_7: every message takes effect exactly once.",
    "workflows": "BPMN and CMMN: definitions, instances with all their versions, tasks, events.",
    "sessions": "A durable “again, later” for anybody: records that a handler or a URL repeats.",
    "coordination": "Change sets that reach every reader's database whole, or not at all.",
}
