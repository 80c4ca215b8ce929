//! Redacts sensitive values at the point of input: `convengine.privacy.redact`.
//!
//! Messages, events of sessions and inputs of chains are redacted before their turn starts, effect outcomes before the core gets them, and
//! feedback before it is stored. So the core never sees the values, journals contain the redacted form, and a replay is identical. What a
//! desk gets is redacted again, because rules by name then also meet the variables into which texts were read.

mod choices;
mod json_text;

use std::borrow::Cow;
use std::ops::Range;

use convengine_core::text::regex::Regex;
use convengine_core::turn::{EffectResult, HttpCaller, HttpRequest, Map, Reply, TaskProgress, UserEvent};
use serde_json::Value;

pub use self::choices::Choices;
use self::json_text::{Token, decode_string, encode_string, find_json, member_value, next_token};
use convengine_host_base::event_members::{HOST_MEMBERS, IDENTITY};

/// The default replacement of a value.
const DEFAULT_REPLACEMENT: &str = "[redacted]";

/// Maximum nesting of JSON within JSON strings.
const MAX_JSON_DEPTH: usize = 4;

/// Members of a session event, beside [`HOST_MEMBERS`], that are words or ids of the server, or say how to talk to a user. Nobody writes a
/// text into them, and no rule may turn them into others: a session would speak another language, or miss its timer.
const EVENT_IDS: [&str; 12] =
    ["type", "timer_id", "call_id", "step", "attempt", "holder", "trigger", "state", "disposition", "locale", "time_zone", "channel"];

/// Members of a call of a desk that it needs to answer the call.
const DESK_IDS: [&str; 4] = ["type", "session_id", "correlation_id", "mode"];

/// Members of a session event or a call of a desk with parameters: variables, arguments of a tool, fields of a form, the body of a webhook.
const PARAMETER_MEMBERS: [&str; 6] = ["params", "vars", "edited_args", "fields", "body", "context"];

/// The member with the user of a session, which stands beside its parameters. A path names it as its first part, as templates do.
const USER: &str = "user";

/// The member with what a page says of its user. It is a user that nobody has verified, so paths of users mean it, too.
const VISITOR: &str = "visitor";

/// The redaction rules.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    patterns: Vec<(Regex, String)>,
    /// Members with this name, at any depth.
    names: Vec<(String, String)>,
    /// Paths within parameters.
    paths: Vec<(Vec<String>, String)>,
}

impl Redaction {
    /// Reads the rules of `convengine.privacy.redact`. An invalid rule is a problem, because ignoring it would store sensitive values.
    pub fn read(rules: &Value, problems: &mut Vec<String>) -> Redaction {
        let mut redaction = Redaction::default();
        let example = "write a list such as [{\"pattern\": \"\\\\d{16}\", \"with\": \"[card]\"}, {\"param\": \"iban\"}]";
        let rules = match rules {
            Value::Null => return redaction,
            Value::Array(rules) => rules,
            _ => {
                problems.push(format!("convengine.privacy.redact: must be a list; {example}"));
                return redaction;
            }
        };
        for (index, rule) in rules.iter().enumerate() {
            if let Err(reason) = redaction.add_rule(rule) {
                problems.push(format!("convengine.privacy.redact[{}]: {reason}", index + 1));
            }
        }
        redaction
    }

    fn add_rule(&mut self, rule: &Value) -> Result<(), String> {
        let members = rule.as_object().ok_or("must be an object; write {\"pattern\": …, \"with\": …} or {\"param\": …, \"with\": …}")?;
        if let Some(other) = members.keys().find(|name| !["pattern", "param", "with"].contains(&name.as_str())) {
            return Err(format!("unknown member '{other}'; use pattern or param, and with"));
        }
        let text = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(format!("{name}: {other} is not a string")),
        };
        let with = text("with")?.unwrap_or(DEFAULT_REPLACEMENT).to_owned();
        match (text("pattern")?, text("param")?.map(str::trim)) {
            (Some(pattern), None) => {
                let regex = Regex::new(pattern).map_err(|it| format!("invalid pattern: {it}"))?;
                if regex.is_match("") != Ok(false) {
                    return Err("the pattern matches the empty string; write one that requires a character".to_owned());
                }
                self.patterns.push((regex, with));
            }
            (None, Some(param)) => {
                let parts: Vec<String> = param.strip_prefix("$.").unwrap_or(param).split('.').map(str::to_owned).collect();
                match parts.as_slice() {
                    parts if parts.iter().any(String::is_empty) => return Err(format!("invalid parameter path '{param}'")),
                    [name] if !param.starts_with("$.") => self.names.push((name.clone(), with)),
                    [first, rest @ ..] if first == USER => {
                        self.paths.push(([&[VISITOR.to_owned()][..], rest].concat(), with.clone()));
                        self.paths.push((parts, with));
                    }
                    _ => self.paths.push((parts, with)),
                }
            }
            _ => return Err("must have either pattern or param".to_owned()),
        }
        Ok(())
    }

    /// Returns whether partial answers may be streamed to subscribers; with redaction rules, a match could continue in the next delta.
    pub fn allows_streaming(&self) -> bool {
        self.is_off()
    }

    /// Returns whether there are no rules.
    pub fn is_off(&self) -> bool {
        self.patterns.is_empty() && self.names.is_empty() && self.paths.is_empty()
    }

    /// Redacts a user event, but for what it takes of the choices that its conversation offers.
    pub fn redact_event(&self, event: &mut UserEvent, choices: &Choices<'_>) {
        if self.is_off() {
            return;
        }
        let chosen = event.flow.as_deref().map(|it| choices.find_chosen(it)).unwrap_or_default();
        if !chosen.contains(&"text") {
            self.redact_optional(&mut event.text);
        }
        self.redact_params(&mut event.params);
        if let Some(Value::Object(members)) = event.flow.as_deref_mut() {
            if let Some(identity) = members.get_mut(IDENTITY).and_then(Value::as_object_mut) {
                self.redact_identity(identity);
            }
            self.redact_envelope(members, |name| EVENT_IDS.contains(&name) || HOST_MEMBERS.contains(&name) || chosen.contains(&name));
        }
    }

    /// Redacts who somebody is: an object with the members `user` and `visitor`.
    pub fn redact_identity(&self, members: &mut Map) {
        if !self.is_off() {
            self.redact_envelope(members, |_| false);
        }
    }

    /// Redacts the input of a chain: the body of a request or of a webhook.
    pub fn redact_input(&self, input: &mut Value) {
        if !self.is_off() {
            self.redact_parameter(input);
        }
    }

    /// Redacts variables that are shown.
    pub fn redact_variables(&self, variables: &mut Map) {
        if !self.is_off() {
            self.redact_params(variables);
        }
    }

    /// Redacts members of an object that is shown, such as its texts; the others are ids and times.
    pub fn redact_members(&self, object: &mut Value, names: &[&str]) {
        let Some(members) = object.as_object_mut().filter(|_| !self.is_off()) else { return };
        members.iter_mut().filter(|member| names.contains(&member.0.as_str())).for_each(|it| self.redact_value(it.1, MAX_JSON_DEPTH));
    }

    /// Returns a call of the webhook of a desk with its body redacted; `None` if nothing is to be redacted.
    pub fn redact_desk_call(&self, request: &HttpRequest) -> Option<HttpRequest> {
        if self.is_off() || !matches!(request.caller, HttpCaller::Handoff(_)) {
            return None;
        }
        let mut members: Map = serde_json::from_str(request.body.as_deref()?).ok()?;
        self.redact_envelope(&mut members, |name| DESK_IDS.contains(&name));
        Some(HttpRequest { body: Some(Value::Object(members).to_string()), ..request.clone() })
    }

    /// Redacts the text of a tool that a person has called.
    pub fn redact_tool_text(&self, mut text: String) -> String {
        if !self.is_off() {
            self.redact_text(&mut text, MAX_JSON_DEPTH);
        }
        text
    }

    /// Redacts the feedback on an answer: its texts, and what else its sender says.
    pub fn redact_feedback(&self, texts: [&mut Option<String>; 2], metadata: &mut Map) {
        if self.is_off() {
            return;
        }
        texts.into_iter().for_each(|text| self.redact_optional(text));
        self.redact_map(metadata, MAX_JSON_DEPTH);
    }

    /// Redacts the answer to an effect.
    pub fn redact_answer(&self, mut answer: EffectResult) -> EffectResult {
        if self.is_off() {
            return answer;
        }
        match &mut answer {
            EffectResult::Error(error) => self.redact_text(&mut error.message, MAX_JSON_DEPTH),
            EffectResult::Ok(Reply::Llm(reply)) => {
                self.redact_text(&mut reply.text, MAX_JSON_DEPTH);
                self.redact_text(&mut reply.reasoning, MAX_JSON_DEPTH);
                reply.tool_calls.iter_mut().for_each(|it| self.redact_value(&mut it.arguments, MAX_JSON_DEPTH));
            }
            EffectResult::Ok(Reply::Tool(reply)) => self.redact_text(&mut reply.text, MAX_JSON_DEPTH),
            EffectResult::Ok(Reply::Http(reply)) => self.redact_text(&mut reply.body, MAX_JSON_DEPTH),
            EffectResult::Ok(Reply::Container(reply)) => self.redact_value(&mut reply.data, MAX_JSON_DEPTH),
            EffectResult::Ok(Reply::Extension(reply)) => self.redact_value(&mut reply.message, MAX_JSON_DEPTH),
            EffectResult::Ok(Reply::Sql(reply)) => reply.rows.iter_mut().for_each(|it| self.redact_map(it, MAX_JSON_DEPTH)),
            EffectResult::Ok(Reply::Task(reply)) => {
                self.redact_value(&mut reply.result, MAX_JSON_DEPTH);
                self.redact_params(&mut reply.patch.params);
                self.redact_map(&mut reply.patch.context, MAX_JSON_DEPTH);
                reply.patch.payload.iter_mut().for_each(|it| self.redact_text(&mut it.value, MAX_JSON_DEPTH));
                reply.publish.iter_mut().for_each(|it| self.redact_publication(it));
            }
            EffectResult::Ok(Reply::Script(reply)) => {
                self.redact_map(&mut reply.changed, MAX_JSON_DEPTH);
                self.redact_value(&mut reply.result, MAX_JSON_DEPTH);
                reply.logs.iter_mut().for_each(|it| self.redact_text(it, MAX_JSON_DEPTH));
                self.redact_optional(&mut reply.message);
                self.redact_optional(&mut reply.branch);
                if let Some(failure) = &mut reply.failure {
                    self.redact_text(&mut failure.message, MAX_JSON_DEPTH);
                }
            }
            // Passages are configuration, not what users write.
            EffectResult::Ok(Reply::Embed(_) | Reply::Knowledge(_) | Reply::PhraseSearch(_) | Reply::Slept) => {}
        }
        answer
    }

    fn redact_publication(&self, publication: &mut TaskProgress) {
        match publication {
            TaskProgress::Verbose { metadata, .. } => self.redact_map(metadata, MAX_JSON_DEPTH),
            TaskProgress::Text { text, metadata, .. } => {
                self.redact_text(text, MAX_JSON_DEPTH);
                self.redact_map(metadata, MAX_JSON_DEPTH);
            }
        }
    }

    /// Redacts the members of an event or a call, except those that are ids.
    fn redact_envelope(&self, members: &mut Map, is_id: impl Fn(&str) -> bool) {
        let mut redacted = Map::with_capacity(members.len());
        for (name, mut value) in std::mem::take(members) {
            if is_id(&name) {
                redacted.insert(name, value);
                continue;
            }
            match (name.as_str(), &mut value) {
                (USER, Value::Object(user)) => self.redact_profile(USER, "id", user),
                (VISITOR, Value::Object(visitor)) => self.redact_profile(VISITOR, "verified", visitor),
                // A rule by name is about parameters; what holds all of them stays an object.
                (name, value @ Value::Object(_)) if PARAMETER_MEMBERS.contains(&name) => self.redact_parameter(value),
                (name, value) => self.redact_member(name, value, MAX_JSON_DEPTH),
            }
            // A word of the protocol is a lower-case one.
            let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let name = if is_word { name } else { self.apply_patterns(&name).into_owned() };
            redacted.insert(name, value);
        }
        *members = redacted;
    }

    /// Redacts what is known of a user or a visitor. One member stays as it is whatever the rules are, and so does the object: by the id of
    /// its user a session is compared with the user's next token, and a visitor is marked as unverified.
    fn redact_profile(&self, name: &str, kept: &str, members: &mut Map) {
        let kept_value = members.get(kept).cloned();
        let is_whole = |entry: &&(Vec<String>, String)| entry.0.len() == 1 && entry.0.first().is_some_and(|member| member == name);
        let whole = self.find_name(name).or_else(|| self.paths.iter().find(is_whole).map(|entry| entry.1.as_str()));
        if let Some(with) = whole {
            members.values_mut().for_each(|it| replace_value(it, with));
        }
        for (path, with) in &self.paths {
            if let Some((_, rest)) = path.split_first().filter(|split| split.0 == name && !split.1.is_empty()) {
                replace_at(members, rest, with);
            }
        }
        self.redact_map(members, MAX_JSON_DEPTH);
        if let Some(value) = kept_value {
            members.insert(kept.to_owned(), value);
        }
    }

    fn redact_parameter(&self, value: &mut Value) {
        if let Value::Object(params) = value {
            self.redact_params(params);
        } else {
            self.redact_value(value, MAX_JSON_DEPTH);
        }
    }

    fn redact_params(&self, params: &mut Map) {
        self.paths.iter().for_each(|(path, with)| replace_at(params, path, with));
        self.redact_map(params, MAX_JSON_DEPTH);
    }

    fn redact_optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.redact_text(text, MAX_JSON_DEPTH);
        }
    }

    fn redact_text(&self, text: &mut String, nested: usize) {
        if let Some(redacted) = self.find_redacted(text, nested) {
            *text = redacted;
        }
    }

    /// Returns what a text becomes; `None` if it stays as it is. The JSON in it is read first, so that rules by name meet it, escapes hide
    /// nothing, and the result is still JSON.
    fn find_redacted(&self, text: &str, nested: usize) -> Option<String> {
        let edited = if nested > 0 { self.redact_json(text, nested - 1) } else { None };
        let redacted = match self.apply_patterns(edited.as_deref().unwrap_or(text)) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        };
        redacted.or(edited)
    }

    /// Redacts the JSON in a text, token by token: what no rule means stays as it is written. Returns `None` if that is all of it.
    fn redact_json(&self, text: &str, nested: usize) -> Option<String> {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for json in find_json(text) {
            let mut at = json.start;
            while let Some(token) = next_token(text, at..json.end) {
                match token {
                    Token::Name(range) => {
                        at = range.end;
                        let name = decode_string(text.get(range.clone()).unwrap_or_default()).unwrap_or_default();
                        if let Cow::Owned(redacted) = self.apply_patterns(&name) {
                            edits.push((range, encode_string(&redacted)));
                        }
                        if let Some(with) = self.find_name(&name) {
                            let value = member_value(text, at, json.end);
                            at = value.end;
                            if text.get(value.clone()).is_some_and(|value| !value.is_empty() && value != "null") {
                                edits.push((value, encode_string(with)));
                            }
                        }
                    }
                    Token::Text(range) => {
                        at = range.end;
                        let content = decode_string(text.get(range.clone()).unwrap_or_default());
                        if let Some(redacted) = content.and_then(|it| self.find_redacted(&it, nested)) {
                            edits.push((range, encode_string(&redacted)));
                        }
                    }
                    Token::Number(range) => {
                        at = range.end;
                        if let Cow::Owned(redacted) = self.apply_patterns(text.get(range.clone()).unwrap_or_default()) {
                            edits.push((range, encode_string(&redacted)));
                        }
                    }
                }
            }
        }
        (!edits.is_empty()).then(|| replace_ranges(text, &edits))
    }

    /// Applies the patterns; if matching fails, the whole text is replaced.
    fn apply_patterns<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut redacted = Cow::Borrowed(text);
        for (pattern, with) in &self.patterns {
            match pattern.replace(&redacted, with) {
                Ok(Some(replaced)) => redacted = Cow::Owned(replaced),
                Ok(None) => {}
                Err(_) => redacted = Cow::Owned(with.clone()),
            }
        }
        redacted
    }

    fn redact_value(&self, value: &mut Value, nested: usize) {
        match value {
            Value::String(text) => self.redact_text(text, nested),
            Value::Number(number) => {
                let digits = number.to_string();
                if let Cow::Owned(redacted) = self.apply_patterns(&digits) {
                    *value = Value::String(redacted);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|it| self.redact_value(it, nested)),
            Value::Object(map) => self.redact_map(map, nested),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn redact_map(&self, map: &mut Map, nested: usize) {
        map.iter_mut().for_each(|(name, value)| self.redact_member(name, value, nested));
        if map.keys().any(|key| matches!(self.apply_patterns(key), Cow::Owned(_))) {
            *map = std::mem::take(map).into_iter().map(|(name, value)| (self.apply_patterns(&name).into_owned(), value)).collect();
        }
    }

    fn redact_member(&self, name: &str, value: &mut Value, nested: usize) {
        match self.find_name(name) {
            Some(with) => replace_value(value, with),
            None => self.redact_value(value, nested),
        }
    }

    /// Finds the replacement of a member by its name, which may be the path of a variable that ends with the name.
    fn find_name(&self, name: &str) -> Option<&str> {
        let last = name.rsplit_once('.').map_or(name, |it| it.1);
        let found = self.names.iter().find(|entry| entry.0.eq_ignore_ascii_case(name) || entry.0.eq_ignore_ascii_case(last));
        found.map(|it| it.1.as_str())
    }
}

/// Replaces the values at a path: within a list, those of each item. A member may be named by several parts, as a desk gets a variable
/// within an object.
fn replace_at(members: &mut Map, path: &[String], with: &str) {
    for parts in 1..=path.len() {
        let (name, rest) = path.split_at(parts);
        if let Some(value) = members.get_mut(&name.join(".")) {
            replace_within(value, rest, with);
        }
    }
}

fn replace_within(value: &mut Value, path: &[String], with: &str) {
    match value {
        value if path.is_empty() => replace_value(value, with),
        Value::Object(members) => replace_at(members, path, with),
        Value::Array(items) => items.iter_mut().for_each(|it| replace_within(it, path, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces parts of a text, which are in order.
fn replace_ranges(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut replaced, mut end) = (String::with_capacity(text.len()), 0);
    for (range, with) in edits {
        replaced.push_str(text.get(end..range.start).unwrap_or_default());
        replaced.push_str(with);
        end = range.end;
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    replaced
}

fn replace_value(value: &mut Value, with: &str) {
    if !value.is_null() {
        *value = Value::String(with.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EffectClass, EffectError, EffectErrorKind, HttpReply};
    use serde_json::json;

    use super::*;

    fn read(rules: Value) -> (Redaction, Vec<String>) {
        let mut problems = Vec::new();
        (Redaction::read(&rules, &mut problems), problems)
    }

    #[test]
    fn values_are_redacted_everywhere() {
        let (redaction, problems) = read(json!([
            {"pattern": r"\b\d{4} ?\d{4}\b", "with": "[card]"}, {"param": "iban"}, {"param": "customer.name", "with": "[name]"}
        ]));
        assert_eq!(problems, [""; 0]);
        let params = json!({
            "n": 12345678, "list": ["a 1234 5678 b", 7], "iban": {"of": "DE1"}, "deep": {"IBAN": "DE2"}, "name": "stays",
            "customer": {"name": "Ada", "iban": null}, "12345678": 1, "json": "{\"iban\":\"DE3\",\"x\":\"\\u0031234 5678\"}"
        });
        let mut event = UserEvent {
            text: Some("it is 12345678.".into()),
            reset: false,
            params: params.as_object().cloned().unwrap_or_default(),
            flow: None,
        };
        redaction.redact_event(&mut event, &Choices::default());
        assert_eq!(event.text.as_deref(), Some("it is [card]."));
        let expected = json!({
            "n": "[card]", "list": ["a [card] b", 7], "iban": "[redacted]", "deep": {"IBAN": "[redacted]"}, "name": "stays",
            "customer": {"name": "[name]", "iban": null}, "[card]": 1, "json": "{\"iban\":\"[redacted]\",\"x\":\"[card]\"}"
        });
        assert_eq!(Value::Object(event.params.clone()), expected);
        let once = event.clone();
        redaction.redact_event(&mut event, &Choices::default());
        assert_eq!(event, once);
        let answer = EffectResult::Ok(Reply::Http(HttpReply {
            status: 200,
            body: "[12345678, true]".to_owned(),
            retry_after_ms: None,
            broken_json: false,
        }));
        let EffectResult::Ok(Reply::Http(reply)) = redaction.redact_answer(answer) else { panic!("another reply") };
        assert_eq!(reply.body, "[\"[card]\", true]");
        let error = EffectResult::Error(EffectError::new(EffectErrorKind::Refused, "1234 5678 is unknown"));
        let EffectResult::Error(error) = redaction.redact_answer(error) else { panic!("no error") };
        assert_eq!(error.message, "[card] is unknown");
        let error = EffectResult::Error(EffectError::new(EffectErrorKind::Refused, "not [paid]: {\"iban\":\"DE1\",\"n\":12345678}"));
        let EffectResult::Error(error) = redaction.redact_answer(error) else { panic!("no error") };
        assert_eq!(error.message, "not [paid]: {\"iban\":\"[redacted]\",\"n\":\"[card]\"}");
        assert!(!redaction.allows_streaming() && Redaction::default().allows_streaming());
    }

    /// Rules by pattern, by name and by path.
    fn rules() -> Redaction {
        let rules =
            json!([{"pattern": r"\d{4,}", "with": "[digits]"}, {"param": "iban"}, {"param": "customer.name"}, {"param": "user.email"}]);
        read(rules).0
    }

    fn redact_flow_event(event: Value) -> Value {
        redact_event_with(&rules(), event, None)
    }

    /// Redacts the event of a session with this state.
    fn redact_event_with(rules: &Redaction, event: Value, state: Option<&Value>) -> Value {
        let mut event = UserEvent::from_flow_event(event);
        rules.redact_event(&mut event, &Choices::offered_by(state));
        let once = event.clone();
        rules.redact_event(&mut event, &Choices::offered_by(state));
        assert_eq!(event, once, "redaction is idempotent");
        event.flow.map(|it| *it).unwrap_or_default()
    }

    fn redact_tool_text(rules: Value, text: &str) -> String {
        read(rules).0.redact_tool_text(text.to_owned())
    }

    #[test]
    fn rules_by_name_meet_json_wherever_it_stands_in_a_text() {
        let rules = json!([{"param": "iban", "with": "[iban]"}, {"pattern": r"\b4929\d{4}\b", "with": "[card]"}]);
        for (text, expected) in [
            (
                "Here:\n```json\n{\n  \"iban\": \"DE1\",\n  \"n\": 1.0\n}\n```\nDone.",
                "Here:\n```json\n{\n  \"iban\": \"[iban]\",\n  \"n\": 1.0\n}\n```\nDone.",
            ),
            (r#"a {"IBAN": {"of": ["DE1"]}} and [{"holder.iban":7}] b"#, r#"a {"IBAN": "[iban]"} and [{"holder.iban":"[iban]"}] b"#),
            ("{\"iban\":\"DE1\"}\n{\"iban\":\"DE2\"}\n", "{\"iban\":\"[iban]\"}\n{\"iban\":\"[iban]\"}\n"),
            ("\u{feff}{\"iban\":\"DE1\"}", "\u{feff}{\"iban\":\"[iban]\"}"),
            // Twice in one object, and cut off at the end.
            (r#"{"iban":"DE1","iban":null}"#, r#"{"iban":"[iban]","iban":null}"#),
            (r#"failed: {"iban":"DE0012"#, r#"failed: {"iban":"[iban]""#),
            (r#"failed: {"iban":["DE0012",{"a":"#, r#"failed: {"iban":"[iban]""#),
            (r#"failed: {"a":1,"iban":"#, r#"failed: {"a":1,"iban":"#),
            // Escaped, in JSON within JSON, and in names.
            (r#"see {"a":"{\"iban\":\"DE1\"}","\u0069ban":1}"#, r#"see {"a":"{\"iban\":\"[iban]\"}","\u0069ban":"[iban]"}"#),
            (r#""{\"iban\":\"DE1\"}""#, r#""{\"iban\":\"[iban]\"}""#),
            (r#"see {"a":"\u0034929 1111 \u00349291111","49291111":49291111}."#, r#"see {"a":"4929 1111 [card]","[card]":"[card]"}."#),
            // What is not JSON stays as it is.
            (r#"the member "iban": "DE1" of {iban} [or] {'iban': 'DE1'}"#, r#"the member "iban": "DE1" of {iban} [or] {'iban': 'DE1'}"#),
            ("{ \"a\" : [ 1.50, null ] }", "{ \"a\" : [ 1.50, null ] }"),
        ] {
            assert_eq!(redact_tool_text(rules.clone(), text), expected);
        }
        let hostile = "{".repeat(1_000_000);
        assert_eq!(redact_tool_text(rules, &hostile), hostile);
    }

    #[test]
    fn paths_enter_lists_and_meet_visitors() {
        let (redaction, _) = read(json!([{"param": "items.iban"}, {"param": "user.home.city"}, {"param": "$.note"}]));
        let mut params = json!({"items": [{"iban": "DE1", "n": 1}, [{"iban": "DE2"}], "DE3"], "iban": "DE4", "note": ["a"],
            "items.iban": "DE5", "visitor": {"home.city": "Ulm"}});
        redaction.redact_variables(params.as_object_mut().expect("an object"));
        let expected = json!({"items": [{"iban": "[redacted]", "n": 1}, [{"iban": "[redacted]"}], "DE3"], "iban": "DE4",
            "note": "[redacted]", "items.iban": "[redacted]", "visitor": {"home.city": "[redacted]"}});
        assert_eq!(params, expected);
        let profile = json!({"id": "u1", "home": [{"city": "Ulm", "zip": "89073"}]});
        let redacted = json!({"id": "u1", "home": [{"city": "[redacted]", "zip": "89073"}]});
        let found = redact_event_with(&redaction, json!({"type": "session.start", "user": profile, "visitor": profile}), None);
        assert_eq!((&found["user"], &found["visitor"]), (&redacted, &redacted));
        let (redaction, _) = read(json!([{"param": "visitor.name"}]));
        let found = redact_event_with(&redaction, json!({"type": "session.start", "user": {"name": "Ada"}}), None);
        assert_eq!(found["user"], json!({"name": "Ada"}), "what is verified is not what a page says");
    }

    #[test]
    fn who_a_user_is_stays_whatever_the_rules_are() {
        let profile = json!({"id": "u-12345", "name": "Ada", "home": {"id": 12345}, "verified": false});
        for rule in [
            json!({"param": "user"}),
            json!({"param": "$.user"}),
            json!({"param": "user.id"}),
            json!({"param": "id"}),
            json!({"param": "verified"}),
            json!({"param": "visitor"}),
            json!({"pattern": "[a-z]+"}),
            json!({"pattern": r"\d+"}),
            json!({"pattern": "user|visitor|id"}),
        ] {
            let (redaction, problems) = read(json!([rule]));
            assert_eq!(problems, [""; 0], "{rule}");
            let identity = json!({"user": profile, "visitor": profile});
            let mut event =
                UserEvent::from_flow_event(json!({"type": "session.start", "user": profile, "visitor": profile, "identity": identity}));
            redaction.redact_event(&mut event, &Choices::default());
            let found = event.flow.map(|it| *it).unwrap_or_default();
            for found in [&found, &found["identity"]] {
                assert_eq!(found["user"]["id"], "u-12345", "{rule}: {found}");
                assert_eq!(found["visitor"]["verified"], false, "{rule}: {found}");
            }
        }
        let (redaction, _) = read(json!([{"param": "user", "with": "[user]"}]));
        let found = redact_event_with(&redaction, json!({"type": "session.start", "user": profile, "params": {"user": "Ada"}}), None);
        assert_eq!(found["user"], json!({"id": "u-12345", "name": "[user]", "home": "[user]", "verified": "[user]"}));
        assert_eq!(found["params"], json!({"user": "[user]"}));
    }

    #[test]
    fn what_is_offered_is_not_redacted_where_it_is_chosen() {
        let options = json!([{"id": "acc-12345", "label": "Account 12345", "value": 12345}, {"id": "acc-67890", "label": "Account 67890"}]);
        let state = json!({"awaiting": {"options": options}, "wait": {"options": ["12345"]}});
        for event in [
            json!({"type": "user.button", "button_id": "acc-12345", "value": 12345, "label": "Account 12345"}),
            json!({"type": "user.message", "text": "Account 67890"}),
            json!({"type": "run.resume", "decision": "12345"}),
        ] {
            assert_eq!(redact_event_with(&rules(), event.clone(), Some(&state)), event);
            assert_ne!(redact_flow_event(event.clone()), event, "nothing is offered");
        }
        let event = json!({"type": "user.button", "button_id": "acc-67890", "value": 12345, "label": "It is 67890"});
        let expected = json!({"type": "user.button", "button_id": "acc-67890", "value": "[digits]", "label": "It is [digits]"});
        assert_eq!(redact_event_with(&rules(), event, Some(&state)), expected, "what is not offered is free text");
        let mut event = UserEvent::from_flow_event(json!({"type": "user.message", "text": "Account 67890"}));
        rules().redact_event(&mut event, &Choices::offered_by(Some(&state)));
        assert_eq!(event.text.as_deref(), Some("Account 67890"));
    }

    #[test]
    fn how_to_talk_to_a_user_stays() {
        let (redaction, _) = read(json!([{"pattern": "[a-z]+"}, {"param": "locale"}, {"param": "channel"}]));
        let event = json!({"type": "session.start", "locale": "de-DE", "time_zone": "Europe/Berlin", "channel": "web", "trigger": "start"});
        assert_eq!(redact_event_with(&redaction, event.clone(), None), event);
        let found = redact_event_with(&redaction, json!({"type": "handoff.status", "state": "completed", "disposition": "resolved"}), None);
        assert_eq!((&found["state"], &found["disposition"]), (&json!("completed"), &json!("resolved")));
        let (redaction, _) = read(json!([{"param": "channel"}]));
        let found = redact_event_with(&redaction, json!({"type": "session.start", "channel": "web", "params": {"channel": "web"}}), None);
        assert_eq!(
            (&found["channel"], &found["params"]["channel"]),
            (&json!("web"), &json!("[redacted]")),
            "rules apply to variables of these names"
        );
    }

    #[test]
    fn parameters_of_sessions_are_redacted_like_those_of_conversations() {
        let params = || json!({"customer": {"name": "Ada", "city": "Ulm"}, "iban": "DE1", "n": 12345});
        let redacted = json!({"customer": {"name": "[redacted]", "city": "Ulm"}, "iban": "[redacted]", "n": "[digits]"});
        for name in PARAMETER_MEMBERS {
            let found = redact_flow_event(json!({"type": "session.start", name: params()}));
            assert_eq!(found[name], redacted, "{name}");
        }
        let found = redact_flow_event(json!({"type": "session.start", "user": {"email": "a@b.c", "id": "u1"}, "params": {"user": "u1"}}));
        assert_eq!(found["user"], json!({"email": "[redacted]", "id": "u1"}));
        let person = json!({"id": "u-12345", "email": "a@b.c", "iban": "DE1", "phone": 12345});
        let identity = json!({"user": person, "visitor": person});
        let found = redact_flow_event(json!({"type": "user.message", "text": "hi", "identity": identity}));
        let user = json!({"id": "u-12345", "email": "[redacted]", "iban": "[redacted]", "phone": "[digits]"});
        assert_eq!(found["identity"]["user"], user, "a session is compared with the user's next token by the id");
        let visitor = json!({"id": "u-[digits]", "email": "[redacted]", "iban": "[redacted]", "phone": "[digits]"});
        assert_eq!(found["identity"]["visitor"], visitor);
        let found = redact_flow_event(json!({"type": "user.button", "button_id": "b", "value": 12345, "label": "It is 12345."}));
        assert_eq!((&found["value"], &found["label"]), (&json!("[digits]"), &json!("It is [digits].")));
        let found = redact_flow_event(json!({"type": "run.ingress", "body": ["12345", {"iban": "DE1"}]}));
        assert_eq!(found["body"], json!(["[digits]", {"iban": "[redacted]"}]));
        let mut input = params();
        rules().redact_input(&mut input);
        assert_eq!(input, redacted);
    }

    #[test]
    fn ids_of_the_server_stay_as_they_are() {
        let event = json!({"type": "approval.decision", "call_id": "call_12345", "step": "s1/2024", "attempt": 10000, "timer_id": "t12345",
            "version": 12345, "deployment": "4d7fe557-0300", "of_seq": 12345, "approved": true});
        assert_eq!(redact_flow_event(event.clone()), event);
    }

    #[test]
    fn arguments_of_tool_calls_are_redacted() {
        let call =
            json!({"id": "call_12345", "name": "pay", "arguments": {"iban": "DE1", "to": ["it is 12345"], "json": "{\"iban\":\"DE1\"}"}});
        let reply = json!({"text": "12345", "tool_calls": [call, {"id": "c", "name": "pay", "arguments": "not JSON 12345"}]});
        let reply = serde_json::from_value(reply).expect("a reply");
        let EffectResult::Ok(Reply::Llm(reply)) = rules().redact_answer(EffectResult::Ok(Reply::Llm(reply))) else {
            panic!("another reply")
        };
        let calls = serde_json::to_value(&reply.tool_calls).expect("calls");
        let arguments = json!({"iban": "[redacted]", "to": ["it is [digits]"], "json": "{\"iban\":\"[redacted]\"}"});
        assert_eq!((&calls[0]["arguments"], &calls[0]["id"]), (&arguments, &json!("call_12345")));
        assert_eq!((&calls[1]["arguments"], reply.text.as_str()), (&json!("not JSON [digits]"), "[digits]"));
    }

    #[test]
    fn a_call_of_the_desk_is_redacted_but_for_its_ids() {
        let body = json!({"type": "handoff.request", "session_id": "12345", "correlation_id": "s12345", "mode": "return", "reason": "card 12345",
            "context": {"customer.name": "Ada", "holder.iban": "DE1", "iban": "DE1", "count": 7}, "user": {"email": "a@b.c"},
            "transcript": [{"role": "user", "text": "it is 12345", "turn": 1}]});
        let mut request = HttpRequest {
            caller: HttpCaller::Handoff("request".to_owned()),
            method: "POST".to_owned(),
            url: "https://desk.example/12345".to_owned(),
            headers: Vec::new(),
            body: Some(body.to_string()),
            auth: None,
            connect_timeout_ms: 1,
            timeout_ms: 1,
            max_bytes: 1,
            class: EffectClass::Write,
            idempotent: true,
            key: None,
            breaker: None,
            sign: None,
            secrets: Vec::new(),
        };
        let redacted = rules().redact_desk_call(&request).expect("a redacted call");
        let expected = json!({"type": "handoff.request", "session_id": "12345", "correlation_id": "s12345", "mode": "return",
            "reason": "card [digits]", "context": {"customer.name": "[redacted]", "holder.iban": "[redacted]", "iban": "[redacted]", "count": 7},
            "user": {"email": "[redacted]"}, "transcript": [{"role": "user", "text": "it is [digits]", "turn": 1}]});
        assert_eq!(serde_json::from_str::<Value>(redacted.body.as_deref().unwrap_or_default()).ok(), Some(expected));
        assert_eq!(redacted.url, request.url);
        assert!(Redaction::default().redact_desk_call(&request).is_none(), "without rules nothing is read");
        request.caller = HttpCaller::Tool("pay".to_owned());
        assert!(rules().redact_desk_call(&request).is_none(), "a service gets what its author sends");
    }

    #[test]
    fn a_failing_pattern_redacts_the_whole_text() {
        let (redaction, _) = read(json!([{"pattern": "(a|b|ab)*(?>c)"}]));
        let mut text = "ab".repeat(40);
        redaction.redact_text(&mut text, MAX_JSON_DEPTH);
        assert_eq!(text, DEFAULT_REPLACEMENT);
    }

    #[test]
    fn an_invalid_rule_is_a_problem() {
        for rules in [
            json!("card"),
            json!([5]),
            json!([{"pattern": "("}]),
            json!([{"pattern": "x*"}]),
            json!([{"pattern": "x", "param": "y"}]),
            json!([{"with": "x"}]),
            json!([{"param": "a..b"}]),
            json!([{"param": 5}]),
            json!([{"param": "a", "replace": "b"}]),
        ] {
            assert_eq!(read(rules.clone()).1.len(), 1, "{rules}");
        }
    }
}
