//! Renders events in server-sent events format (docs/spec/data-and-api.md#8.2, docs/spec/data-and-api.md#8.4,
//! docs/spec/data-and-api.md#8.5).

use std::borrow::Cow;

use convengine_core::turn::{Millis, Notice, NoticeBody, VerboseNotice};
use serde::Serialize;
use serde_json::{Value, json};

use convengine_host_base::clock;
use convengine_storage::turn_rows::with_total_ms;

/// The envelope of every event; absent members are null.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'e, P> {
    event_type: &'static str,
    audit_id: Option<i64>,
    stage: &'e str,
    created_at: String,
    payload: P,
    verbose: Option<Value>,
}

/// Renders the first event of a stream; `resumed` is whether a stream with a last event id could be resumed.
pub fn render_connected(conversation: &str, resumed: Option<bool>) -> String {
    let mut data = json!({"conversationId": conversation, "transport": "SSE"});
    if let Some(resumed) = resumed {
        data["resumed"] = resumed.into();
    }
    let mut wire = String::new();
    write_event(&mut wire, None, "CONNECTED", &data);
    wire
}

/// Renders notices of a turn in order; `total` is the duration of the turn in milliseconds once it has ended.
pub(super) fn render_notices(turn: &str, notices: &[Notice], total: Millis) -> String {
    let mut wire = String::new();
    notices.iter().for_each(|it| write_notice(&mut wire, turn, it, total));
    wire
}

/// Writes a notice of a turn; `total` is the measured duration for `PIPELINE_TIMING`, as in the stored row.
fn write_notice(wire: &mut String, turn: &str, notice: &Notice, total: Millis) {
    let id = Some((turn, notice.seq));
    match &notice.body {
        NoticeBody::Audit { stage, payload } => {
            write_event(wire, id, stage, &audit_envelope(stage, notice.at, with_total_ms(stage, payload, total)));
        }
        NoticeBody::Verbose(verbose) => {
            let verbose = progress_json(verbose);
            let payload = json!({"verbose": verbose});
            let envelope = Envelope { event_type: "VERBOSE", verbose: Some(verbose), ..audit_envelope("VERBOSE", notice.at, payload) };
            write_event(wire, id, "VERBOSE", &envelope);
        }
        NoticeBody::Message { message } => {
            let envelope = Envelope { event_type: "MESSAGE", ..audit_envelope("MESSAGE", notice.at, message) };
            write_event(wire, id, "MESSAGE", &envelope);
        }
    }
}

/// Writes an audit event that has no stored row.
pub(super) fn write_unstored(wire: &mut String, turn: &str, seq: usize, stage: &str, at: Millis, payload: Value) {
    write_event(wire, Some((turn, u32::try_from(seq).unwrap_or(u32::MAX))), stage, &audit_envelope(stage, at, payload));
}

/// Renders an audit event that belongs to no turn and therefore has no id.
pub(super) fn render_turnless_audit(stage: &str, at: Millis, payload: Value) -> String {
    let mut wire = String::new();
    write_event(&mut wire, None, stage, &audit_envelope(stage, at, payload));
    wire
}

/// Writes a piece of model output, or without a text a reset of the pieces so far. Token events have no id, so that the ids of the other
/// events stay dense and reconnecting clients do not resume from here.
pub(super) fn write_token(wire: &mut String, turn: &str, effect: u32, text: Option<&str>) {
    let data = match text {
        Some(text) => json!({"eventType": "TOKEN", "turn": turn, "effect": effect, "text": text}),
        None => json!({"eventType": "TOKEN", "turn": turn, "effect": effect, "reset": true}),
    };
    write_event(wire, None, "TOKEN", &data);
}

/// Writes the progress of a tool call, which has no id either.
pub(super) fn write_tool_progress(wire: &mut String, turn: &str, effect: u32, progress: &Value) {
    let part = |name: &str| progress.get(name).cloned().unwrap_or_default();
    let data = json!({
        "eventType": "TOOL_PROGRESS", "turn": turn, "effect": effect, "progress": part("progress"), "total": part("total"),
        "message": part("message"),
    });
    write_event(wire, None, "TOOL_PROGRESS", &data);
}

fn audit_envelope<P>(stage: &str, at: Millis, payload: P) -> Envelope<'_, P> {
    Envelope { event_type: "AUDIT", audit_id: None, stage, created_at: clock::format_iso(at), payload, verbose: None }
}

fn progress_json(verbose: &VerboseNotice) -> Value {
    json!({
        "verboseId": verbose.verbose_id,
        "eventType": "VERBOSE_PROGRESS",
        "stepName": verbose.step,
        "determinant": verbose.determinant,
        "intent": verbose.intent,
        "state": verbose.state,
        "ruleId": verbose.rule_id,
        "toolCode": verbose.tool_code,
        "level": verbose.level,
        "text": verbose.text,
        "message": verbose.message,
        "errorMessage": verbose.error_message,
        "metadata": verbose.metadata,
    })
}

/// Writes an event. The id comes first, so that name and data are adjacent, as clients of the original server expect.
fn write_event(wire: &mut String, id: Option<(&str, u32)>, name: &str, data: &impl Serialize) {
    // Envelopes consist of strings, numbers and JSON values: serializing them cannot fail.
    let data = serde_json::to_string(data).unwrap_or_default();
    let id = id.map(|(turn, seq)| format!("id:{turn}:{seq}\n")).unwrap_or_default();
    wire.push_str(&format!("{id}event:{}\ndata:{data}\n\n", replace_line_breaks(name)));
}

/// Replaces line breaks, which would end the field: stages may contain names chosen by authors.
fn replace_line_breaks(name: &str) -> Cow<'_, str> {
    if name.contains(['\r', '\n']) { Cow::Owned(name.replace(['\r', '\n'], " ")) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::Level;

    use super::*;

    #[test]
    fn the_wire_form_is_that_of_existing_clients() {
        let mut wire = render_connected("c", None);
        let payload = json!({"text": "a\nb", "n": 1});
        let body = NoticeBody::Audit { stage: "RULE_MATCH (RulesStep)".into(), payload: payload.into() };
        write_notice(&mut wire, "t", &Notice { seq: 7, at: 1_767_323_045_678, body }, 0);
        assert_eq!(
            wire,
            "event:CONNECTED\ndata:{\"conversationId\":\"c\",\"transport\":\"SSE\"}\n\n\
             id:t:7\nevent:RULE_MATCH (RulesStep)\ndata:{\"eventType\":\"AUDIT\",\"auditId\":null,\"stage\":\"RULE_MATCH (RulesStep)\",\
             \"createdAt\":\"2026-01-02T03:04:05.678Z\",\"payload\":{\"text\":\"a\\nb\",\"n\":1},\"verbose\":null}\n\n"
        );
    }

    #[test]
    fn a_token_names_its_turn_and_effect() {
        let mut wire = String::new();
        write_token(&mut wire, "t", 3, Some("a\nb"));
        write_token(&mut wire, "t", 3, None);
        assert_eq!(
            wire,
            "event:TOKEN\ndata:{\"eventType\":\"TOKEN\",\"turn\":\"t\",\"effect\":3,\"text\":\"a\\nb\"}\n\n\
             event:TOKEN\ndata:{\"eventType\":\"TOKEN\",\"turn\":\"t\",\"effect\":3,\"reset\":true}\n\n"
        );
    }

    #[test]
    fn a_resumed_stream_says_so() {
        let expected = "event:CONNECTED\ndata:{\"conversationId\":\"c\",\"transport\":\"SSE\",\"resumed\":true}\n\n";
        assert_eq!(render_connected("c", Some(true)), expected);
    }

    #[test]
    fn progress_is_included_twice_with_all_members() {
        let verbose = VerboseNotice {
            verbose_id: None,
            step: "RulesStep".to_owned(),
            determinant: "RULE_MATCH".to_owned(),
            intent: "A".to_owned(),
            state: "B".to_owned(),
            rule_id: Some(3),
            tool_code: None,
            level: Level::Error,
            text: "x".to_owned(),
            message: None,
            error_message: Some("x".to_owned()),
            metadata: json!({"k": 1}),
        };
        let mut wire = String::new();
        write_notice(&mut wire, "t", &Notice { seq: 0, at: 0, body: NoticeBody::Verbose(Box::new(verbose)) }, 0);
        let data: Value = serde_json::from_str(wire.strip_prefix("id:t:0\nevent:VERBOSE\ndata:").unwrap().trim()).unwrap();
        let expected = json!({
            "verboseId": null, "eventType": "VERBOSE_PROGRESS", "stepName": "RulesStep", "determinant": "RULE_MATCH", "intent": "A",
            "state": "B", "ruleId": 3, "toolCode": null, "level": "ERROR", "text": "x", "message": null, "errorMessage": "x",
            "metadata": {"k": 1}
        });
        assert_eq!((&data["verbose"], &data["payload"]["verbose"]), (&expected, &expected));
        assert_eq!((&data["eventType"], &data["stage"], &data["auditId"]), (&json!("VERBOSE"), &json!("VERBOSE"), &Value::Null));
    }

    #[test]
    fn a_line_break_in_a_stage_stays_within_its_field() {
        let mut wire = String::new();
        write_unstored(&mut wire, "t", 1, "A\nid:x", 0, json!({}));
        assert!(wire.starts_with("id:t:1\nevent:A id:x\ndata:{"), "{wire}");
        assert_eq!(wire.matches('\n').count(), 4);
    }
}
