//! OpenAPI schemas of assistant routes.

use convengine_content::knowledge::document::MAX_ID_CHARS;
use convengine_core::config::settings::DEFAULT_INPUT_MAX_CHARS;
use convengine_settings::secrets::MIN_SECRET_CHARS;
use serde_json::{Value, json};

use crate::api::assistant::knowledge::{MAX_LOCALE_CHARS, MAX_TITLE_CHARS, MAX_URL_CHARS};
use crate::api::assistant::runtime::events::MAX_EVENT_ID_CHARS;
use crate::api::schemas::{list, nullable_text, object, text};

/// All schemas by name.
pub fn all() -> Value {
    let count = json!({"type": "integer", "minimum": 1});
    let issues = list(&json!({"$ref": "#/components/schemas/DocumentIssue"}));
    let assistant = object(json!({
        "id": text("The assistant id"),
        "name": text("The display name"),
        "revision": count,
        "live_version": {"type": ["integer", "null"], "description": "Null until a version is published"},
    }));
    let version = object(json!({
        "version": count,
        "snapshot": text("The hash of the effective document"),
        "state": {"enum": ["live", "archived"]},
        "published_at": text("RFC 3339"),
    }));
    let secret = object(json!({
        "name": text("The secret name"),
        "prefix": text("Always empty: no part of a value is shown"),
        "updated_at": text("RFC 3339"),
    }));
    json!({
        "Flow": flow(),
        "Assistants": object(json!({"agents": list(&assistant)})),
        "Saved": object(json!({"id": text("The id of the document"), "revision": count, "issues": issues})),
        "Validated": object(json!({"ok": {"type": "boolean"}, "issues": issues, "migration": migration()})),
        "Published": object(json!({
            "version": count, "snapshot": text("The hash of the effective document"), "issues": issues, "migration": migration(),
        })),
        "Versions": object(json!({"versions": list(&version)})),
        "Restored": object(json!({"id": text("The id of the document"), "revision": count})),
        "Deployment": super::deployments::schema(),
        "Deployed": object(json!({"id": {"type": "string", "format": "uuid"}, "token": text("The token, which is not shown again")})),
        "NewSecret": new_secret(),
        "KeptSecret": object(json!({"name": text("The secret name"), "prefix": text("Always empty: no part of a value is shown")})),
        "KeptSecrets": object(json!({"secrets": list(&secret)})),
        "NewKnowledgeSource": new_knowledge_source(),
        "KnowledgeSource": knowledge_source(),
        "KnowledgeSources": object(json!({"sources": list(&knowledge_source())})),
        "KnowledgeSearch": knowledge_search(),
        "DocumentIssue": issue(),
        "AssistantRefusal": refusal(),
        "NewSession": new_session(),
        "AgentMessage": agent_message(),
        "AgentDeployment": super::deployments::agent_schema(),
        "TurnEvent": turn_event(),
        "UserEvent": user_event(),
        "Approval": approval(),
        "HandoffStatus": super::desk::schemas::status(),
        "HandoffMessage": super::desk::schemas::message(),
        "DeskConversations": super::desk::schemas::conversations(),
        "DeskConversation": super::desk::schemas::conversation(),
        "DeskTake": super::desk::schemas::take(),
        "DeskReturn": super::desk::schemas::give_back(),
        "DeskClose": super::desk::schemas::close(),
        "DeskResult": super::desk::schemas::result(),
        "PublicSession": super::runtime::transcript::public_session_schema(),
        "Deployments": super::deployment_tokens::deployments_schema(),
        "SessionMessages": super::desk::schemas::session_messages(),
        "TurnResponse": turn_response(),
        "SessionState": session_state(),
        "SessionTrace": trace(),
        "Replayed": replay_check(),
    })
}

fn flow() -> Value {
    json!({
        "type": "object",
        "description": "A flow document. Its id must match the path; unknown members are preserved.",
        "required": ["id", "name"],
        "properties": {"id": text("The assistant id"), "name": text("The display name")},
    })
}

fn new_secret() -> Value {
    json!({
        "type": "object",
        "required": ["name", "value"],
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]{0,63}$", "description": "The secret name"},
            "value": {"type": "string", "minLength": MIN_SECRET_CHARS, "description": "The value, which no route returns"},
        },
    })
}

fn new_knowledge_source() -> Value {
    json!({
        "type": "object",
        "required": ["id", "text"],
        "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": MAX_ID_CHARS, "description": "The source id"},
            "title": {"type": ["string", "null"], "maxLength": MAX_TITLE_CHARS, "description": "Shown in citations; default the document's own title or the id"},
            "text": {"type": "string", "minLength": 1, "description": "The text; Base64 for a PDF"},
            "url": {"type": ["string", "null"], "maxLength": MAX_URL_CHARS, "description": "Where users find the document"},
            "locale": {"type": ["string", "null"], "maxLength": MAX_LOCALE_CHARS, "description": "The language of the text; default the assistant's default locale"},
            "format": {"enum": ["text", "markdown", "html", "pdf", null], "description": "Default `text`"},
        },
    })
}

fn knowledge_source() -> Value {
    object(json!({
        "id": text("The source id"),
        "title": text("The title"),
        "url": nullable_text("Where users find the document"),
        "locale": text("The language of the text"),
        "format": {"enum": ["text", "markdown"], "description": "The format of the stored text"},
        "status": {"enum": ["ready", "partial", "indexing", "failed"], "description": "`partial` can be searched like `ready`, but part of the document could not be read"},
        "error": nullable_text("Why indexing failed"),
        "progress": {"type": "number", "minimum": 0, "maximum": 1},
        "chunks": {"type": "integer", "minimum": 0},
        "unreadable": object(json!({
            "characters": {"type": "integer", "minimum": 0, "description": "The characters that could not be read"},
            "pages": {"type": "integer", "minimum": 0, "description": "The pages that show something but have no text, such as scans"},
        })),
        "embedding": object(json!({
            "model": nullable_text("The model whose vectors all chunks have"),
            "error": nullable_text("Why the last attempt to embed the chunks failed"),
        })),
        "updated_at": text("RFC 3339"),
    }))
}

fn knowledge_search() -> Value {
    let hit = |more: Value| {
        let mut properties = json!({
            "source_id": text("The source id"),
            "chunk_id": text("The chunk id"),
            "title": text("The title of the source and the headings above the chunk"),
            "url": nullable_text("Where users find the document"),
            "score": {"type": "number", "description": "BM25, the cosine, or the reciprocal rank score"},
            "text": text("The text of the chunk"),
        });
        if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
            properties.extend(more);
        }
        list(&object(properties))
    };
    object(json!({
        "query": text("The question"),
        "conf": {"type": "number", "description": "The confidence of the best chunk"},
        "keyword": hit(json!({})),
        "vector": hit(json!({})),
        "fused": hit(json!({"conf": {"type": "number", "description": "The confidence of the chunk"}})),
        "lists": {"type": "array", "items": {"enum": ["keyword", "vector"]}, "description": "Rankings that returned results"},
    }))
}

fn issue() -> Value {
    json!({
        "type": "object",
        "required": ["code", "severity", "path", "graph", "node", "name", "message"],
        "properties": {
            "code": text("The stable code of the check"),
            "severity": {"enum": ["error", "warning", "info"]},
            "path": text("The location as a JSON pointer"),
            "graph": nullable_text("The graph id"),
            "node": nullable_text("The node id"),
            "name": nullable_text("The display name of the node"),
            "message": text("The problem"),
            "fix": text("How to fix it"),
        },
    })
}

fn migration() -> Value {
    let count = || json!({"type": "integer", "minimum": 0});
    object(json!({"sessions": count(), "map": count(), "reask": count(), "stay": count()}))
}

fn new_session() -> Value {
    json!({
        "type": "object",
        "properties": {
            "locale": nullable_text("The locale of the user; default is that of the document"),
            "time_zone": nullable_text("The IANA name of the time zone of the user; default is that of the channel, else that of the document"),
            "channel": {"type": ["string", "null"], "minLength": 1, "description": "The kind of channel"},
            "user": user(),
            "visitor": visitor(),
            "user_token": user_token(),
            "params": {"type": ["object", "null"], "description": "Initial variables of the session"},
            "trigger": nullable_text("Workflows in the simulator only: the id of the trigger to start at"),
            "version": {"type": ["integer", "null"], "description": "Simulator only: the version; default is the draft"},
            "session_id": {"type": ["string", "null"], "format": "uuid", "description": "Simulator only: the id of the new session"},
            "event_id": event_id("session start"),
        },
    })
}

fn turn_event() -> Value {
    let types = ["user.message", "user.button", "timer.fired", "approval.decision", "handoff.status", "handoff.message", "session.end"];
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": types},
            "event_id": event_id("event"),
            "text": input_text(),
            "button_id": text("The id of the pressed button"),
            "value": {"description": "The value of the button"},
            "label": text("The label of the button"),
            "timer_id": text("The id of the timer that fired"),
            "call_id": text("The id of the call to decide"),
            "approved": {"type": "boolean"},
            "edited_args": {"type": "object"},
            "reason": text("The reason"),
            "state": {"enum": ["accepted", "failed", "completed"]},
            "disposition": {"enum": ["resolved", "returned"]},
            "vars": {"type": "object"},
            "message": text("A message to the user"),
            "author": text("The person at the desk"),
            "user_token": user_token(),
        },
    })
}

fn user_event() -> Value {
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["user.message", "user.button", "session.end"]},
            "event_id": event_id("event"),
            "text": input_text(),
            "button_id": text("The id of the pressed button"),
            "value": {"description": "The value of the button"},
            "label": text("The label of the button"),
            "reason": text("The reason"),
            "user_token": user_token(),
        },
    })
}

fn user() -> Value {
    let description = "The user's identity as stated by an administrator; from a page it is stored as `visitor`";
    json!({"type": ["object", "null"], "description": description})
}

fn visitor() -> Value {
    json!({"type": ["object", "null"], "description": "What the page says of its user, unverified"})
}

fn user_token() -> Value {
    nullable_text("A JSON Web Token of the user, which proves who it is; its claims become `user`")
}

fn input_text() -> Value {
    let description = "The user's message; the limit is convengine.input.max-chars, whose default is shown";
    json!({"type": "string", "minLength": 1, "maxLength": DEFAULT_INPUT_MAX_CHARS, "description": description})
}

fn agent_message() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": input_text(),
            "conversation_id": {"type": ["string", "null"], "format": "uuid", "description": "The conversation; default a new one"},
            "channel": {"type": ["string", "null"], "description": "The channel; one that the document lists"},
            "version": {"type": ["integer", "null"], "description": "The version of a new conversation in the simulator; default the draft"},
            "user": user(),
            "visitor": visitor(),
            "user_token": user_token(),
            "event_id": event_id("message"),
        },
    })
}

fn approval() -> Value {
    json!({
        "type": "object",
        "required": ["approved"],
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the call is approved"},
            "edited_args": {"type": "object", "description": "Arguments that replace those of the call"},
            "reason": text("The reason"),
        },
    })
}

fn turn_response() -> Value {
    let message = json!({
        "type": "object",
        "required": ["id", "node", "text", "blocks", "locale", "final", "role"],
        "properties": {
            "id": text("The message id within the session"), "node": text("The node that sent it"), "text": text("The plain text"),
            "blocks": {"type": "array"}, "locale": text("The locale"), "final": {"type": "boolean"}, "role": {"enum": ["bot", "human"]},
            "author": text("The person, for the role `human`"),
        },
    });
    json!({
        "type": "object",
        "required": ["session_id", "turn", "status", "messages", "awaiting"],
        "properties": {
            "session_id": {"type": "string", "format": "uuid"},
            "conversation_id": {"type": "string", "format": "uuid", "description": "The session of an AI agent, for its next message"},
            "turn": {"type": "integer", "minimum": 0},
            "status": {"enum": ["awaiting_input", "handed_off", "completed", "failed"]},
            "messages": {"type": "array", "items": message},
            "awaiting": {"type": ["object", "null"], "description": "What the session is waiting for"},
            "handoff": {"type": "object", "description": "The handoff, while a person has the session or should have it"},
            "debug": {"type": "object", "description": "Debug information"},
        },
    })
}

fn session_state() -> Value {
    json!({
        "type": "object",
        "required": ["schema_version", "session_id", "snapshot", "status", "turn", "seq", "vars", "stack"],
        "properties": {
            "schema_version": {"const": "1.0"}, "session_id": {"type": "string"}, "snapshot": {"type": "string"},
            "status": {"enum": ["active", "handed_off", "completed", "failed", "abandoned"]},
            "turn": {"type": "integer"}, "seq": {"type": "integer"}, "vars": {"type": "object"}, "stack": {"type": "array"},
        },
    })
}

fn trace() -> Value {
    let event = json!({
        "type": "object",
        "required": ["turn", "seq", "span", "parent", "kind", "program", "at", "time", "level", "data"],
        "properties": {
            "turn": user_turn(),
            "seq": {"type": "integer", "minimum": 0, "description": "The position in the turn"},
            "span": {"type": "string", "pattern": "^[0-9a-f]{16}$", "description": "The span id, stable across replays"},
            "parent": nullable_text("The span of the enclosing `node.enter`"),
            "kind": text("The kind of event"),
            "program": {"enum": ["assistant", "workflow", "agent"]},
            "at": nullable_text("The node as `graph/node`"),
            "time": text("RFC 3339"),
            "level": {"enum": ["info", "warning", "error"]},
            "data": {"description": "The event data, with private values masked as `[name]`"},
        },
    });
    let turn = json!({
        "type": "object",
        "required": ["turn", "number", "event", "events"],
        "properties": {
            "turn": user_turn(), "number": journal_number(), "event": {}, "events": list(&event),
            "reason": text("Why events are missing: the turn cannot be replayed"),
        },
    });
    object(json!({"turns": list(&turn)}))
}

fn user_turn() -> Value {
    json!({"type": "integer", "minimum": 0, "description": "The turn number in the response, which counts user turns; 0 is the start"})
}

fn journal_number() -> Value {
    json!({"type": "integer", "minimum": 1, "description": "The position among all turns of the session, including timers"})
}

fn replay_check() -> Value {
    let divergence = json!({
        "type": ["object", "null"],
        "required": ["turn", "number", "path", "stored", "replayed"],
        "properties": {
            "turn": user_turn(),
            "number": journal_number(),
            "path": text("The location of the difference as a JSON pointer"),
            "stored": text("The recorded value"),
            "replayed": nullable_text("The replayed value; null if the replay does not complete"),
            "reason": text("A description of the difference"),
            "node": nullable_text("The node at which the replay requests something else, as `graph/node`; null if it completes"),
            "port": nullable_text("The last port that the replay has taken, as `graph/node:port`"),
        },
    });
    object(json!({"equal": {"type": "boolean"}, "turns": {"type": "integer"}, "divergence": divergence}))
}

fn refusal() -> Value {
    let error = json!({
        "type": "object",
        "required": ["code", "message"],
        "properties": {
            "code": text("The stable error code"),
            "message": text("The problem and how to fix it"),
            "session_id": text("The session that has ended"),
            "author": nullable_text("The person who has the conversation"),
            "scope": text("The scope of the limit"),
            "limit": {"type": "integer"},
            "options": {"type": "array", "description": "The decisions that the step accepts"},
            "form": {"type": "array", "description": "The fields that the step asks for"},
            "reset": {"type": "integer", "description": "When the limit resets, in seconds since the Unix epoch"},
        },
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "description": "The body of every error response of these paths.",
        "required": ["error"],
        "properties": {"error": error, "issues": list(&json!({"$ref": "#/components/schemas/DocumentIssue"}))},
        "additionalProperties": false,
    })
}

/// The idempotency key of a message, an event or a session start.
pub fn event_id(of: &str) -> Value {
    json!({
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": MAX_EVENT_ID_CHARS,
        "description": format!("Idempotency key of the {of}"),
    })
}
