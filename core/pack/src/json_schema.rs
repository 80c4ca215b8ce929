//! The published JSON Schema of packs, for editors and generators. (docs/spec/interface.md#3)

use convengine_config::{OTHER_TABLES, TABLES};
use convengine_turn::Map;
use serde_json::{Value, json};

/// Returns the JSON Schema (2020-12) of packs. It accepts what [`Pack::parse`](super::Pack::parse) accepts, except that it does not
/// decode modules of extensions. Of the columns of tables it says what they hold, and demands nothing: invalid rows are skipped.
///
/// Unknown members are allowed, except in extensions, as in the parser.
///
/// ```
/// use convengine_pack::json_schema;
///
/// let schema = json_schema();
/// assert_eq!(schema["required"][0], "name");
/// assert!(schema["properties"]["tables"]["properties"]["ce_response"].is_object(), "each table has its columns");
/// ```
pub fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://convengine.dev/schema/pack-1.0.json",
        "title": "Pack",
        "description": "Configuration, scripted answers and a conversation in one file.",
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": text("The name."),
            "about": text("What the pack demonstrates."),
            "settings": {"type": ["object", "null"], "description": "The tree of settings below `convengine`; keys in camelCase or kebab-case."},
            "tables": {
                "type": "object",
                "description": "Rows by table. Absent columns take the default of the table.",
                "properties": tables(),
                "additionalProperties": {"type": "array", "items": {"type": "object"}},
            },
            "documents": {
                "type": "array",
                "description": "Flow documents (schema conversation-flow-1.0), workflow graphs and AI agents. A pack without tables plays the first one.",
                "items": {"type": "object"},
            },
            "workspace_tools": {"type": "array", "description": "Tools of the workspace, which documents may name.", "items": {"type": "object"}},
            "extensions": map("WebAssembly extensions by name.", &reference("Extension")),
            "llm": list("The rules of the scripted model. The first that matches a call answers it.", &reference("ModelRule")),
            "tasks": map("Scripted tasks by `bean:method`.", &reference("TaskScript")),
            "tools": map("Scripted tools by code, or by group for requests without a code.", &reference("ToolScript")),
            "containers": map("Data of containers by `page/section/container`, or `{\"error\": text}`.", &json!(true)),
            "http": list("Rules of the fake HTTP service at `${STUB}`.", &reference("HttpRule")),
            "turns": list("The conversation.", &reference("Turn")),
        },
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    json!({
        "Extension": extension(),
        "ModelRule": model_rule(),
        "TaskScript": task_script(),
        "ToolScript": tool_script(),
        "HttpAnswer": {"type": "object", "properties": http_answer()},
        "HttpRule": http_rule(),
        "Turn": turn(),
        "Request": request(),
        "Answer": answer(),
        "Check": check(),
        "EffectError": effect_error(),
    })
}

fn tables() -> Map {
    TABLES.iter().chain(&OTHER_TABLES).map(|table| (table.name.to_owned(), table.json_schema())).collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn nullable_text(description: &str) -> Value {
    json!({"type": ["string", "null"], "description": description})
}

fn any(description: &str) -> Value {
    json!({"description": description})
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

fn status() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": 65_535, "default": 200, "description": "The HTTP status."})
}

fn list(description: &str, items: &Value) -> Value {
    json!({"type": "array", "description": description, "items": items})
}

/// An object with arbitrary names; null counts as empty.
fn map(description: &str, member: &Value) -> Value {
    json!({"type": ["object", "null"], "description": description, "additionalProperties": member})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn extension() -> Value {
    let names = |description: &str| json!({"type": ["array", "null"], "description": description, "items": {"type": "string"}});
    json!({
        "type": "object",
        "description": "A module with its permissions.",
        "properties": {
            "wasm": text("The module in Base64."),
            "file": text("The module file, relative to the pack."),
            "requests": names("The kinds of effects that the extension may request."),
            "hosts": names("The hosts that it may call, as `host:port`."),
            "secrets": names("The secrets that it may use."),
            "memory_mib": {"type": ["integer", "null"], "default": 16, "description": "The memory limit in MiB."},
            "timeout_ms": {"type": ["integer", "null"], "default": 1000, "description": "The time limit of a call."},
            "enabled": {"type": ["boolean", "integer", "null"], "default": true, "description": "Whether the extension is enabled."},
            "description": nullable_text("What the extension does."),
        },
        "additionalProperties": false,
        "anyOf": [{"required": ["wasm"]}, {"required": ["file"]}],
    })
}

fn model_rule() -> Value {
    let purpose = "The purpose of the call, such as `intent_agent`; `embed` for embeddings.";
    json!({
        "type": "object",
        "description": "A rule matches a call when all its conditions do: `purpose`, `kind`, `user_text`, `contains`, `times`.",
        "properties": {
            "purpose": nullable_text(purpose),
            "kind": {"enum": ["text", "json", "json_strict", null], "description": "The mode of the call."},
            "user_text": nullable_text("The user's message of the turn, compared without surrounding white space."),
            "contains": list("Strings that occur in the prompt.", &json!({"type": "string"})),
            "times": {"type": ["integer", "null"], "minimum": 0, "description": "The maximum number of calls that the rule answers."},
            "reply": any("The reply: text, or JSON that is given as text. An agent also accepts `{\"tool_calls\": […], \"text\"}`."),
            "replies": list("The replies to the first, second, … call; the last one repeats. Ignored if `reply` is present.", &json!(true)),
            "error": nullable_text("The call fails as `unavailable` with this message."),
            "delay_ms": {"type": "integer", "minimum": 0, "default": 0, "description": "The delay before the answer."},
        },
    })
}

fn task_script() -> Value {
    json!({
        "type": "object",
        "properties": {
            "result": any("The return value."),
            "set_params": {"type": "object", "description": "Input parameters to set."},
            "set_context": {"type": "object", "description": "Members of the context to set; null removes one."},
            "intent": nullable_text("The new intent."),
            "state": nullable_text("The new state."),
            "payload": {
                "type": ["object", "null"],
                "description": "The answer of the turn.",
                "required": ["type", "value"],
                "properties": {"type": {"enum": ["TEXT", "JSON"]}, "value": {"type": "string"}},
            },
            "publish": list("Progress messages, in this order.", &json!({"type": "object"})),
            "error": text("The task fails as `unavailable` with this message; other members are ignored."),
        },
    })
}

fn tool_script() -> Value {
    json!({
        "type": "object",
        "properties": {
            "text": any("The result of each call; for a database tool, a row or a list of rows."),
            "texts": list("The results of the first, second, … call; the last one repeats.", &json!(true)),
            "error": text("The tool fails as `unavailable` with this message."),
            "request": {"type": "object", "description": "The HTTP request of a tool in `ce_mcp_tool`, which becomes a row of `ce_http_tool`."},
            "response": {"type": ["object", "null"], "description": "How the response of that request is read."},
            "expression": any("The calculation of a tool in `ce_mcp_tool`, which becomes a row of `cv_tool_spec`."),
        },
    })
}

fn http_answer() -> Value {
    json!({"status": status(), "json": any("The body as JSON."), "text": nullable_text("The body as text; takes precedence over `json`.")})
}

fn http_rule() -> Value {
    let mut properties = http_answer();
    let more = json!({
        "path_prefix": text("The prefix of the path and query."),
        "sequence": list("The answers to the first, second, … request, instead of the rule's own answer.", &reference("HttpAnswer")),
        "repeat": {"type": "boolean", "default": false, "description": "Whether the sequence starts over; otherwise its last answer repeats."},
    });
    if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
        properties.extend(more);
    }
    json!({"type": "object", "required": ["path_prefix"], "properties": properties})
}

fn turn() -> Value {
    json!({
        "type": "object",
        "properties": {
            "conversation": nullable_text("A label that groups turns."),
            "request": {"description": "The HTTP request.", "anyOf": [{"type": "null"}, reference("Request")]},
            "admin_sql": any("SQL to run instead of a request."),
            "cache_refreshed": {"type": "boolean", "default": false, "description": "Whether the configuration is refreshed after the SQL."},
            "expect": any("The expected response: only members that are present are compared."),
            "at": {"type": ["integer", "null"], "description": "The time of the message in milliseconds since 1970."},
            "answers": list("The answers to the effects of the turn, in order.", &reference("Answer")),
            "checks": list("The expectations of a talk.", &reference("Check")),
            "line": {"type": "integer", "minimum": 0, "default": 0, "description": "The line in the talk; 0 in a pack."},
        },
    })
}

fn request() -> Value {
    json!({
        "type": "object",
        "required": ["method", "path"],
        "properties": {
            "method": text("`GET`, `POST`, …"),
            "path": text("Path and query."),
            "body": any("A JSON value, or the text of the body. `{\"$repeat\": S, \"$length\": N}` is S repeated to N characters."),
            "contentType": nullable_text("The header `Content-Type`."),
        },
    })
}

fn answer() -> Value {
    json!({
        "type": "object",
        "description": "The answer to one effect: a model call by purpose, or a task, tool or container by name.",
        "properties": {
            "llm": text("The purpose of the model call."),
            "task": text("The task, as `bean:method`."),
            "tool": text("The code of the tool."),
            "container": text("The container, as `page/section/container`."),
            "reply": any("The reply."),
            "error": {"description": "The failure, instead of a reply.", "anyOf": [{"type": "null"}, reference("EffectError")]},
            "delay_ms": {"type": "integer", "minimum": 0, "default": 0, "description": "The delay before the answer."},
            "line": count("The line in the talk."),
        },
        "oneOf": [{"required": ["llm"]}, {"required": ["task"]}, {"required": ["tool"]}, {"required": ["container"]}],
    })
}

fn effect_error() -> Value {
    let kinds = [
        "timeout",
        "unavailable",
        "refused",
        "invalid",
        "not_found",
        "denied",
        "circuit_open",
        "limited",
        "unsupported",
        "interrupted",
        "cancelled",
        "mismatch",
    ];
    json!({
        "type": "object",
        "required": ["kind", "message"],
        "properties": {
            "kind": {"enum": kinds, "description": "The class of failure."},
            "message": text("The message for audits."),
            "status": {"type": ["integer", "null"], "description": "The HTTP status."},
            "retry_after_ms": {"type": ["integer", "null"], "minimum": 0, "description": "The delay before the next attempt."},
            "detail": nullable_text("A more specific code."),
        },
    })
}

fn check() -> Value {
    let at_path = |name: &str, description: &str| {
        json!({
            "type": "object",
            "description": description,
            "required": ["path", name],
            "properties": {"path": {"type": "string"}, name: true},
        })
    };
    let texts = |description: &str| list(description, &json!({"type": "string"}));
    let place = json!({
        "type": "object",
        "description": "The turn ends with this intent and state.",
        "required": ["intent", "state"],
        "properties": {"intent": {"type": "string"}, "state": {"type": "string"}},
    });
    json!({
        "type": "object",
        "description": "One expectation of a talk, with its `line`.",
        "properties": {
            "line": count("The line in the talk."),
            "reply": text("The reply is this text."),
            "reply_contains": text("The reply contains this text."),
            "reply_json": any("The reply is this JSON."),
            "fails": text("The turn fails with this code."),
            "place": place,
            "stages": texts("These stages are audited in this order, possibly with others in between."),
            "no_stage": text("This stage is not audited."),
            "equals": at_path("value", "The value at the path equals this value."),
            "contains": at_path("text", "The value at the path is, or contains, a string with this text."),
            "lacks": at_path("text", "There is a value at the path, and it does not contain this text."),
            "verbose": text("This progress message is published."),
            "no_verbose": text("This progress message is not published."),
            "calls": texts("These calls are made, in this order, and no others."),
        },
    })
}

#[cfg(test)]
mod tests {
    use convengine_text::json::schema::JsonSchema;
    use convengine_turn::EffectErrorKind;

    use super::*;
    use crate::Pack;

    #[test]
    fn the_schema_accepts_what_the_parser_accepts() {
        let schema = JsonSchema::compile(&json_schema()).unwrap();
        for pack in [
            json!({"name": "n"}),
            json!({"name": "n", "settings": null, "tasks": null, "tools": null, "containers": null, "extensions": null}),
            json!({"name": "n", "turns": [{"request": null, "expect": {"status": 200}}], "unknown": 1}),
            json!({"name": "n", "turns": [{"answers": [{"tool": "T", "error": {"kind": "timeout", "message": "late"}}]}]}),
            json!({"name": "n", "turns": [{"checks": [{"line": 3, "place": {"intent": "A", "state": "B"}}]}]}),
        ] {
            assert!(Pack::parse(&pack.to_string()).is_ok(), "{pack}");
            assert_eq!(schema.find_violation(&pack), None, "{pack}");
        }
        for pack in [
            json!({}),
            json!({"name": 1}),
            json!({"name": "n", "tables": {"ce_rule": {}}}),
            json!({"name": "n", "llm": [{"times": -1}]}),
            json!({"name": "n", "http": [{"status": 200}]}),
            json!({"name": "n", "turns": [{"request": {"method": "GET"}}]}),
            json!({"name": "n", "turns": [{"answers": [{"reply": 1}]}]}),
            json!({"name": "n", "turns": [{"answers": [{"tool": "T", "error": {"kind": "soon", "message": ""}}]}]}),
            json!({"name": "n", "extensions": {"e": {"host": []}}}),
        ] {
            assert!(Pack::parse(&pack.to_string()).is_err(), "{pack}");
            assert!(schema.find_violation(&pack).is_some(), "{pack}");
        }
    }

    #[test]
    fn every_member_of_the_structures_is_a_property() {
        let schema = json_schema();
        let lacks = |value: Value, properties: &Value| -> Vec<String> {
            value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).filter(|name| properties.get(name).is_none()).collect()
        };
        let pack = json!({"name": "n", "documents": [{}], "turns": [{"request": {"method": "GET", "path": "/"}, "cache_refreshed": true}],
            "llm": [{}], "http": [{"path_prefix": "/", "json": 1, "text": "t", "sequence": [{"json": 1, "text": "t"}]}]});
        let pack = serde_json::to_value(Pack::parse(&pack.to_string()).unwrap()).unwrap();
        let none: Vec<String> = Vec::new();
        assert_eq!(lacks(pack.clone(), &schema["properties"]), none);
        for (pointer, definition) in [
            ("/turns/0", "Turn"),
            ("/turns/0/request", "Request"),
            ("/llm/0", "ModelRule"),
            ("/http/0", "HttpRule"),
            ("/http/0/sequence/0", "HttpAnswer"),
        ] {
            assert_eq!(lacks(pack.pointer(pointer).unwrap().clone(), &schema["$defs"][definition]["properties"]), none, "{pointer}");
        }
        let kinds = &schema["$defs"]["EffectError"]["properties"]["kind"]["enum"];
        for name in kinds.as_array().unwrap() {
            assert!(serde_json::from_value::<EffectErrorKind>(name.clone()).is_ok(), "{name}");
        }
    }
}
