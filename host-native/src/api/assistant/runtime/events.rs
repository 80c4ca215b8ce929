//! Reads and checks session events from request bodies.

use convengine_core::flow;
use convengine_core::text::time_zone;
use convengine_core::turn::Map;
use convengine_host_base::event_members::HOST_MEMBERS;
use serde_json::{Value, json};

use convengine_access::api_error::ApiError;
use convengine_access::identity::{Identity, USER_TOKEN};
use convengine_content::Content;

/// Maximum length of an `event_id` in characters.
pub const MAX_EVENT_ID_CHARS: usize = 200;

/// Event types that users may send.
const USER_EVENT_TYPES: [&str; 3] = ["user.message", "user.button", "session.end"];

/// Reads the event of a body. Texts have the same length limit as messages of conversations.
///
/// # Errors
/// 422 if the event is invalid, 413 if its text is too long, 403 if users may not send it.
pub fn read_event(content: &Content, members: Map, from_users: bool) -> Result<Map, ApiError> {
    check_event(members, from_users, content.config_manager.active().config.settings.input_max_chars)
}

fn check_event(mut members: Map, from_users: bool, max_chars: usize) -> Result<Map, ApiError> {
    let refuse = |reason: &str| ApiError::unprocessable(reason).with_code("invalid_event");
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if from_users && !USER_EVENT_TYPES.contains(&kind.as_str()) && !kind.is_empty() {
        let message = format!("event '{kind}' is not allowed here; send one of {}", USER_EVENT_TYPES.join(", "));
        return Err(ApiError::forbidden(message).with_code("event_not_allowed"));
    }
    if members.get("text").and_then(Value::as_str).is_some_and(|text| text.chars().nth(max_chars).is_some()) {
        let message = format!("text is too long; send at most {max_chars} characters");
        return Err(ApiError::too_large(message).with_code("text_too_long"));
    }
    check_event_id(&members).map_err(|it| refuse(&it))?;
    members.retain(|_, it| !it.is_null());
    // A journal holds who the user is, and no credentials.
    HOST_MEMBERS.into_iter().chain([USER_TOKEN]).for_each(|name| drop(members.shift_remove(name)));
    flow::check_event(&Value::Object(members.clone())).map_err(|reason| refuse(&format!("invalid event: {reason}")))?;
    Ok(members)
}

/// Reads the start event of a session of this user.
///
/// # Errors
/// 422 if a member is invalid.
pub fn read_start(members: &Map, channel: Option<&str>, identity: Identity) -> Result<Map, ApiError> {
    let refuse = |reason: String| ApiError::unprocessable(reason).with_code("invalid_session");
    let mut event = Map::from_iter([("type".to_owned(), json!("session.start"))]);
    check_event_id(members).map_err(refuse)?;
    check_start(members).map_err(refuse)?;
    for key in ["locale", "time_zone", "channel", "params", "event_id"] {
        event.extend(members.get(key).filter(|it| !it.is_null()).map(|value| (key.to_owned(), value.clone())));
    }
    event.extend(identity.into_members());
    if let Some(channel) = channel {
        event.entry("channel".to_owned()).or_insert_with(|| json!(channel));
    }
    flow::check_event(&Value::Object(event.clone())).map_err(|reason| refuse(format!("invalid session: {reason}")))?;
    Ok(event)
}

/// Checks that user, visitor, channel, locale and time zone fit `SessionState`.
fn check_start(members: &Map) -> Result<(), String> {
    let member = |key: &str| members.get(key).filter(|it| !it.is_null());
    if let Some(name) = ["user", "visitor"].into_iter().find(|name| member(name).is_some_and(|it| !it.is_object())) {
        return Err(format!("{name} is not an object; send an object or omit it"));
    }
    if member("channel").is_some_and(|channel| channel.as_str().is_none_or(str::is_empty)) {
        return Err("channel is not a non-empty string; send one or omit it".to_owned());
    }
    if member("locale").is_some_and(|it| !it.is_string()) {
        return Err("locale is not a string; send one such as en-US or omit it".to_owned());
    }
    if member("time_zone").is_some_and(|zone| zone.as_str().is_none_or(|name| time_zone::canonical_name(name).is_none())) {
        return Err("time_zone is unknown; send an IANA name such as Europe/Berlin or omit it".to_owned());
    }
    Ok(())
}

/// Checks the `event_id`, which must be storable in the database.
fn check_event_id(members: &Map) -> Result<(), String> {
    let id = members.get("event_id").unwrap_or(&Value::Null);
    let is_valid = id.as_str().is_some_and(|id| !id.is_empty() && id.chars().count() <= MAX_EVENT_ID_CHARS && !id.contains('\0'));
    let refusal = || format!("invalid event_id; send 1 to {MAX_EVENT_ID_CHARS} characters without NUL");
    if is_valid || id.is_null() { Ok(()) } else { Err(refusal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_must_be_storable() {
        for (id, fine) in
            [(json!("a"), true), (json!(null), true), (json!("a\0"), false), (json!(""), false), (json!("a".repeat(201)), false)]
        {
            let given = Map::from_iter([("event_id".to_owned(), id.clone())]);
            assert_eq!(read_start(&given, None, Identity::default()).is_ok(), fine, "{id}");
            let event = Map::from_iter([
                ("type".to_owned(), json!("user.message")),
                ("text".to_owned(), json!("hi")),
                ("event_id".to_owned(), id.clone()),
            ]);
            assert_eq!(check_event(event, true, 5).is_ok(), fine, "{id}");
        }
    }

    #[test]
    fn start_members_must_fit_the_session_state() {
        for (given, fine) in [
            (json!({"user": {"id": "u"}, "channel": "web", "locale": "de-DE", "time_zone": "Europe/Berlin", "params": {}}), true),
            (json!({"user": null, "channel": null, "locale": null, "time_zone": null, "params": null, "event_id": null}), true),
            (json!({"user": "u"}), false),
            (json!({"user": ["u"]}), false),
            (json!({"user": false}), false),
            (json!({"visitor": {"id": "u"}}), true),
            (json!({"visitor": "u"}), false),
            (json!({"channel": ""}), false),
            (json!({"channel": 5}), false),
            (json!({"locale": 5}), false),
            (json!({"locale": {}}), false),
            (json!({"time_zone": "Mars/Base"}), false),
            (json!({"time_zone": ""}), false),
            (json!({"time_zone": 2}), false),
            (json!({"params": []}), false),
        ] {
            let read = read_start(given.as_object().unwrap_or(&Map::new()), Some("web"), Identity::default());
            assert_eq!(read.as_ref().is_ok(), fine, "{given}");
            assert!(read.is_ok() || read.is_err_and(|it| it.has_code("invalid_session")), "{given}");
        }
    }

    #[test]
    fn users_may_send_messages_buttons_and_the_end() {
        let read = |event: Value, from_users| check_event(event.as_object().cloned().unwrap_or_default(), from_users, 3);
        for event in [json!({"type": "user.message", "text": "hi"}), json!({"type": "user.button", "button_id": "b", "value": 1})] {
            assert_eq!(read(event.clone(), true).ok(), event.as_object().cloned());
        }
        let code = |event: Value, from_users, code: &str| assert!(read(event, from_users).is_err_and(|it| it.has_code(code)), "{code}");
        code(json!({"type": "timer.fired", "timer_id": "session"}), true, "event_not_allowed");
        code(json!({"type": "handoff.message", "text": "hi"}), true, "event_not_allowed");
        code(json!({"type": "session.start"}), true, "event_not_allowed");
        code(json!({"type": "user.message"}), false, "invalid_event");
        code(json!({"type": "no.such"}), false, "invalid_event");
        code(json!({"type": "user.message", "text": "\u{e4}bcd"}), true, "text_too_long");
        code(json!({}), true, "invalid_event");
        code(json!({"type": "user.message", "text": "hi", "event_id": ""}), true, "invalid_event");
        let forged = json!({"user": {"id": "u"}});
        let event = json!({"type": "user.message", "text": "hi", "version": 9, "budget_left": 9, "event_id": null, "identity": forged, "user_token": "t"});
        assert_eq!(read(event, true).ok().map(|it| it.len()), Some(2), "host members and tokens are removed");
    }
}
