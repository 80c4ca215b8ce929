//! Redacts sensitive values at the point of input: `convengine.privacy.redact`.
//!
//! Messages are redacted before their turn starts, effect outcomes before the core gets them, and feedback before it is stored. So the core
//! never sees the values, journals contain the redacted form, and a replay is identical.

use std::borrow::Cow;

use convengine_core::text::regex::Regex;
use convengine_core::turn::{EffectResult, Map, Reply, TaskProgress, UserEvent};
use serde_json::Value;

use crate::ops::feedback::Feedback;

/// The default replacement of a value.
const DEFAULT_REPLACEMENT: &str = "[redacted]";

/// Maximum nesting of JSON within JSON strings.
const MAX_JSON_DEPTH: usize = 4;

/// The redaction rules.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    patterns: Vec<(Regex, String)>,
    /// Members with this name, at any depth.
    names: Vec<(String, String)>,
    /// Paths within the parameters.
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
        if let Some(other) = members.keys().find(|it| !["pattern", "param", "with"].contains(&it.as_str())) {
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

    fn is_off(&self) -> bool {
        self.patterns.is_empty() && self.names.is_empty() && self.paths.is_empty()
    }

    /// Redacts a user event.
    pub fn redact_event(&self, event: &mut UserEvent) {
        if self.is_off() {
            return;
        }
        self.redact_optional(&mut event.text);
        self.redact_params(&mut event.params);
        if let Some(Value::Object(members)) = event.flow.as_deref_mut() {
            self.redact_map(members, MAX_JSON_DEPTH);
        }
    }

    /// Redacts the feedback on an answer.
    pub fn redact_feedback(&self, feedback: &mut Feedback) {
        if self.is_off() {
            return;
        }
        self.redact_optional(&mut feedback.message_id);
        self.redact_optional(&mut feedback.answer);
        self.redact_map(&mut feedback.metadata, MAX_JSON_DEPTH);
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
                reply.message.iter_mut().for_each(|it| self.redact_text(it, MAX_JSON_DEPTH));
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

    fn redact_params(&self, params: &mut Map) {
        for (path, with) in &self.paths {
            let Some((last, before)) = path.split_last() else { continue };
            let parent = before.iter().try_fold(&mut *params, |map, part| map.get_mut(part)?.as_object_mut());
            if let Some(value) = parent.and_then(|it| it.get_mut(last)) {
                replace_value(value, with);
            }
        }
        self.redact_map(params, MAX_JSON_DEPTH);
    }

    fn redact_optional(&self, text: &mut Option<String>) {
        text.iter_mut().for_each(|it| self.redact_text(it, MAX_JSON_DEPTH));
    }

    /// Redacts a text. JSON text is parsed first, so that escapes hide nothing and the result is still JSON.
    fn redact_text(&self, text: &mut String, nested: usize) {
        if nested > 0
            && text.trim_start().starts_with(['{', '['])
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            let before = value.clone();
            self.redact_value(&mut value, nested - 1);
            if value != before {
                *text = value.to_string();
            }
        }
        if let Cow::Owned(redacted) = self.apply_patterns(text) {
            *text = redacted;
        }
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
        for (name, value) in map.iter_mut() {
            match self.names.iter().find(|it| it.0.eq_ignore_ascii_case(name)) {
                Some((_, with)) => replace_value(value, with),
                None => self.redact_value(value, nested),
            }
        }
        if map.keys().any(|it| matches!(self.apply_patterns(it), Cow::Owned(_))) {
            *map = std::mem::take(map).into_iter().map(|(name, value)| (self.apply_patterns(&name).into_owned(), value)).collect();
        }
    }
}

fn replace_value(value: &mut Value, with: &str) {
    if !value.is_null() {
        *value = Value::String(with.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EffectError, EffectErrorKind, HttpReply};
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
        redaction.redact_event(&mut event);
        assert_eq!(event.text.as_deref(), Some("it is [card]."));
        let expected = json!({
            "n": "[card]", "list": ["a [card] b", 7], "iban": "[redacted]", "deep": {"IBAN": "[redacted]"}, "name": "stays",
            "customer": {"name": "[name]", "iban": null}, "[card]": 1, "json": "{\"iban\":\"[redacted]\",\"x\":\"[card]\"}"
        });
        assert_eq!(Value::Object(event.params.clone()), expected);
        let once = event.clone();
        redaction.redact_event(&mut event);
        assert_eq!(event, once);
        let answer = EffectResult::Ok(Reply::Http(HttpReply {
            status: 200,
            body: "[12345678, true]".to_owned(),
            retry_after_ms: None,
            broken_json: false,
        }));
        let EffectResult::Ok(Reply::Http(reply)) = redaction.redact_answer(answer) else { panic!("another reply") };
        assert_eq!(reply.body, "[\"[card]\",true]");
        let error = EffectResult::Error(EffectError::new(EffectErrorKind::Refused, "1234 5678 is unknown"));
        let EffectResult::Error(error) = redaction.redact_answer(error) else { panic!("no error") };
        assert_eq!(error.message, "[card] is unknown");
        assert!(!redaction.allows_streaming() && Redaction::default().allows_streaming());
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
