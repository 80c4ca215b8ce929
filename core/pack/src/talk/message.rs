//! Parses `>` lines: the message, its conversation, and the time that passes before it.

use convengine_turn::{Map, Millis, Rng, uuid_from_seed};
use serde_json::{Value, json};

use super::super::{PackError, PackRequest};
use super::line::{self, Line};
use super::{flow, time};

/// A parsed message.
pub(super) struct TalkMessage {
    /// The label of its conversation.
    pub conversation: String,
    /// The time that passes before it, in milliseconds; `None` if omitted.
    pub wait: Option<Millis>,
    /// The request.
    pub request: PackRequest,
}

/// Parses the text after `>`: `@label`, `+45m`, then a text or a JSON object.
pub(super) fn parse_message(line: &Line<'_>, document: Option<flow::Document<'_>>) -> Result<TalkMessage, PackError> {
    let mut rest = *line;
    let mut conversation = "main".to_owned();
    if rest.text.starts_with('@') {
        let (label, after) = rest.split_word();
        label.strip_mark("@").unwrap_or(label).required("the label of the conversation")?.clone_into(&mut conversation);
        rest = after;
    }
    let mut wait = None;
    if rest.text.starts_with('+') {
        let (word, after) = rest.split_word();
        wait = time::parse_duration(word.text);
        if wait.is_none() && after.text.is_empty() {
            return Err(word.error("invalid duration; write a duration such as +45m (ms, s, m, h, d), or the message as a JSON object"));
        }
        rest = if wait.is_some() { after } else { rest };
    }
    if let Some(document) = document {
        return Ok(TalkMessage { request: flow::parse_event(&rest, document, &conversation)?, conversation, wait });
    }
    let body = parse_body(&rest, &conversation)?;
    let request = PackRequest { method: "POST".to_owned(), path: "/api/v1/conversation/message".to_owned(), body, content_type: None };
    Ok(TalkMessage { conversation, wait, request })
}

fn parse_body(line: &Line<'_>, conversation: &str) -> Result<Value, PackError> {
    let id = Value::from(conversation_id_for_label(conversation));
    if !line.text.starts_with('{') {
        return Ok(json!({"conversationId": id, "message": line.text}));
    }
    let Value::Object(mut members) = line::parse_json(line, "a message that begins with { is the request body as JSON")? else {
        return Err(line.error("expected text or a JSON object"));
    };
    let mut body = Map::new();
    body.insert("conversationId".to_owned(), members.shift_remove("conversationId").unwrap_or(id));
    body.extend(members);
    Ok(super::super::expand_repeats(&Value::Object(body)))
}

/// Returns the conversation id of a label, which is the same in every talk: a UUID, as servers demand it.
///
/// ```
/// use convengine_pack::conversation_id_for_label;
///
/// assert_eq!(conversation_id_for_label("main"), conversation_id_for_label("main"));
/// assert_ne!(conversation_id_for_label("main"), conversation_id_for_label("b"));
/// ```
pub fn conversation_id_for_label(label: &str) -> String {
    let seed = label.bytes().fold(0, |seed: u64, byte| Rng::new(seed ^ u64::from(byte)).next_u64());
    uuid_from_seed(seed)
}
