//! Reads what happens to a session from the bodies of requests.

use axum::http::{StatusCode, Uri};
use convengine_core::flow;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use crate::assistant::run::OF_SEQ;
use crate::drive::Host;
use crate::http::error::ApiError;

/// Most characters of an `event_id`.
const LONGEST_ID: usize = 200;

/// Events that users make.
const OF_USERS: [&str; 3] = ["user.message", "user.button", "session.end"];

/// The event of a body; a text may have as many characters as one of a conversation.
///
/// # Errors
/// A refusal of what is none, is too long, or may not come from there.
pub fn of_body(host: &Host, uri: &Uri, given: Map, from_users: bool) -> Result<Map, ApiError> {
    read(uri, given, from_users, host.current.now().config.settings.input_max_chars)
}

fn read(uri: &Uri, mut given: Map, from_users: bool, most: usize) -> Result<Map, ApiError> {
    let refuse = |reason: &str| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, reason).coded("invalid_event");
    let kind = given.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if from_users && !OF_USERS.contains(&kind.as_str()) && !kind.is_empty() {
        let message = format!("pages may not send '{kind}': send {}", OF_USERS.join(", "));
        return Err(ApiError::new(StatusCode::FORBIDDEN, uri, message).coded("event_not_allowed"));
    }
    if given.get("text").and_then(Value::as_str).is_some_and(|it| it.chars().nth(most).is_some()) {
        let message = format!("the text is too long: send at most {most} characters");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, uri, message).coded("text_too_long"));
    }
    named(&given).map_err(|it| refuse(&it))?;
    given.retain(|_, it| !it.is_null());
    // What only the host says.
    let of_host = ["assistant", "version", "deployment", "budget_left", "migrated", OF_SEQ];
    of_host.into_iter().for_each(|it| drop(given.shift_remove(it)));
    flow::check(&Value::Object(given.clone())).map_err(|it| refuse(&format!("the event cannot be read: {it}")))?;
    Ok(given)
}

/// The event with which a session begins.
///
/// # Errors
/// A refusal of what cannot be read.
pub fn start(uri: &Uri, given: &Map, channel: Option<&str>) -> Result<Map, ApiError> {
    let refuse = |reason: String| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, reason).coded("invalid_session");
    let mut event = Map::from_iter([("type".to_owned(), json!("session.start"))]);
    named(given).map_err(refuse)?;
    begins(given).map_err(refuse)?;
    for key in ["locale", "channel", "user", "params", "event_id"] {
        event.extend(given.get(key).filter(|it| !it.is_null()).map(|it| (key.to_owned(), it.clone())));
    }
    if let Some(channel) = channel {
        event.entry("channel".to_owned()).or_insert_with(|| json!(channel));
    }
    flow::check(&Value::Object(event.clone())).map_err(|it| refuse(format!("the session cannot begin so: {it}")))?;
    Ok(event)
}

/// Whether a session can have such a user and be at such a place: its state has a form of its own. (`SessionState`)
fn begins(given: &Map) -> Result<(), String> {
    let member = |key: &str| given.get(key).filter(|it| !it.is_null());
    if member("user").is_some_and(|it| !it.is_object()) {
        return Err("user is no object: send what is known of the user as one, or nothing".to_owned());
    }
    if member("channel").is_some_and(|it| it.as_str().is_none_or(str::is_empty)) {
        return Err("channel is no text of at least 1 character: send one, or nothing".to_owned());
    }
    if member("locale").is_some_and(|it| !it.is_string()) {
        return Err("locale is no text: send one such as en-US, or nothing".to_owned());
    }
    Ok(())
}

/// Whether the client's name for an event can be used, where it has one: databases know events by it.
fn named(given: &Map) -> Result<(), String> {
    let id = given.get("event_id").unwrap_or(&Value::Null);
    let fine = id.as_str().is_some_and(|it| !it.is_empty() && it.chars().count() <= LONGEST_ID && !it.contains('\0'));
    let refusal = || format!("event_id cannot be used: send a text of 1 to {LONGEST_ID} characters, none of them NUL");
    if fine || id.is_null() { Ok(()) } else { Err(refusal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_a_name_that_databases_can_keep() {
        let uri = Uri::from_static("/v1/public/runtime/sessions");
        for (id, fine) in
            [(json!("a"), true), (json!(null), true), (json!("a\0"), false), (json!(""), false), (json!("a".repeat(201)), false)]
        {
            let given = Map::from_iter([("event_id".to_owned(), id.clone())]);
            assert_eq!(start(&uri, &given, None).is_ok(), fine, "{id}");
            let said = Map::from_iter([
                ("type".to_owned(), json!("user.message")),
                ("text".to_owned(), json!("hi")),
                ("event_id".to_owned(), id.clone()),
            ]);
            assert_eq!(read(&uri, said, true, 5).is_ok(), fine, "{id}");
        }
    }

    #[test]
    fn a_session_begins_with_what_its_state_can_hold() {
        let uri = Uri::from_static("/v1/public/runtime/sessions");
        for (given, fine) in [
            (json!({"user": {"id": "u"}, "channel": "web", "locale": "de-DE", "params": {}}), true),
            (json!({"user": null, "channel": null, "locale": null, "params": null, "event_id": null}), true),
            (json!({"user": "u"}), false),
            (json!({"user": ["u"]}), false),
            (json!({"user": false}), false),
            (json!({"channel": ""}), false),
            (json!({"channel": 5}), false),
            (json!({"locale": 5}), false),
            (json!({"locale": {}}), false),
            (json!({"params": []}), false),
        ] {
            let read = start(&uri, given.as_object().unwrap_or(&Map::new()), Some("web"));
            assert_eq!(read.as_ref().is_ok(), fine, "{given}");
            assert!(read.is_ok() || read.is_err_and(|it| it.is_code("invalid_session")), "{given}");
        }
    }

    #[test]
    fn users_say_and_press_and_leave() {
        let uri = Uri::from_static("/v1/public/runtime/sessions/x/turns");
        let read = |event: Value, from_users| read(&uri, event.as_object().cloned().unwrap_or_default(), from_users, 3);
        for event in [json!({"type": "user.message", "text": "hi"}), json!({"type": "user.button", "button_id": "b", "value": 1})] {
            assert_eq!(read(event.clone(), true).ok(), event.as_object().cloned());
        }
        let code = |event: Value, from_users, code: &str| assert!(read(event, from_users).is_err_and(|it| it.is_code(code)), "{code}");
        code(json!({"type": "timer.fired", "timer_id": "session"}), true, "event_not_allowed");
        code(json!({"type": "handoff.message", "text": "hi"}), true, "event_not_allowed");
        code(json!({"type": "session.start"}), true, "event_not_allowed");
        code(json!({"type": "user.message"}), false, "invalid_event");
        code(json!({"type": "no.such"}), false, "invalid_event");
        code(json!({"type": "user.message", "text": "\u{e4}bcd"}), true, "text_too_long");
        code(json!({}), true, "invalid_event");
        code(json!({"type": "user.message", "text": "hi", "event_id": ""}), true, "invalid_event");
        let said = json!({"type": "user.message", "text": "hi", "version": 9, "budget_left": 9, "event_id": null});
        assert_eq!(read(said, true).ok().map(|it| it.len()), Some(2), "what the host says is not the user's");
    }
}
