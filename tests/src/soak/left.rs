//! What a conversation leaves in a database and at the services around it, in a form in which two runs can be compared.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use convengine_core::json::diff;
use convengine_core::turn::{Answer, EffectErrorKind};
use convengine_server::play::stub::Call;
use convengine_server::store::turn::decompress;
use convengine_server::store::{Place, audit, load, readers, turn};
use serde_json::{Map, Value, json};

/// What is left.
#[derive(Debug)]
pub struct Left {
    /// Answers, rows and audit, without times and the ids of turns.
    pub state: Value,
    /// How often each call that may write was made, each key once.
    calls: BTreeMap<String, usize>,
    /// Calls that may write and have no key.
    without_key: usize,
    /// Whether a write was in doubt.
    in_doubt: bool,
}

impl Left {
    /// Reads what is left of conversations.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn of(url: &str, conversations: &[String], answers: Vec<Value>, called: Vec<Call>) -> Result<Left> {
        let place = Place { url: url.to_owned(), full_sync: false };
        let pool = readers(&place).await.map_err(|it| anyhow!("{it}"))?;
        let (mut states, mut in_doubt) = (Map::new(), false);
        for id in conversations {
            let found = load::conversation(&pool, id, 500, None).await?;
            let turns = turn::of_conversation(&pool, id).await?;
            for turn in &turns {
                let entries = decompress(&turn.journal)?.entries;
                in_doubt |=
                    entries.iter().any(|it| matches!(&it.outcome, Answer::Error(error) if error.kind == EffectErrorKind::Interrupted));
            }
            let rows = audit::of_conversation(&pool, id).await?;
            let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            let rows: Vec<Value> = rows.iter().map(|it| json!({"stage": it.stage, "payload": parsed(&it.payload_json)})).collect();
            let turns: Vec<Value> = turns.iter().map(|it| json!([it.number, it.status])).collect();
            let state = json!({"open": found.open, "session": found.session, "turns": turns, "audit": rows});
            states.insert(id.clone(), masked(&state));
        }
        pool.close().await;
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut without_key = 0;
        for Call { method, path, body, key } in called.into_iter().filter(|it| it.method != "GET") {
            match key {
                Some(key) => {
                    let of_call = keys.entry(format!("{method} {path} {body}")).or_default();
                    if !of_call.contains(&key) {
                        of_call.push(key);
                    }
                }
                None => without_key += 1,
            }
        }
        let calls = keys.into_iter().map(|(call, keys)| (call, keys.len())).collect();
        Ok(Left { state: json!({"answers": answers, "conversations": states}), calls, without_key, in_doubt })
    }

    /// Nothing when both are equal, an empty text when a write was in doubt and nothing is wrong, else what differs.
    ///
    /// # Errors
    /// When something was written twice, or without its key.
    pub fn compared(&self, whole: &Left) -> Result<Option<String>> {
        if self.without_key > 0 {
            return Err(anyhow!("{} calls that may write had no key", self.without_key));
        }
        if let Some((call, count)) = self.calls.iter().find(|(call, count)| whole.calls.get(*call).is_none_or(|it| it < count)) {
            return Err(anyhow!("{call} was made with {count} keys"));
        }
        if let Some(open) = self.unfinished(whole) {
            return Err(anyhow!("{open}"));
        }
        if self.in_doubt {
            return Ok(Some(String::new()));
        }
        if let Some((call, count)) = whole.calls.iter().find(|(call, count)| self.calls.get(*call) != Some(count)) {
            return Err(anyhow!("{call} was to be made {count} times"));
        }
        let found = diff::leaves(&whole.state, &self.state);
        if found.is_empty() {
            return Ok(None);
        }
        let lines: Vec<String> = found.iter().take(3).map(ToString::to_string).collect();
        Ok(Some(format!("{} differences: {}", found.len(), lines.join("; "))))
    }

    /// A turn that has not ended, or not once.
    fn unfinished(&self, whole: &Left) -> Option<String> {
        let turns = |it: &Value| it["conversations"].as_object().cloned().unwrap_or_default();
        let expected = turns(&whole.state);
        turns(&self.state).into_iter().find_map(|(id, left)| {
            let of_whole = &expected.get(&id)?["turns"];
            (left["open"] != false || left["turns"] != *of_whole)
                .then(|| format!("the turns of {id} are {}, not {of_whole}", left["turns"]))
        })
    }
}

/// Members that count the digits of a duration.
const COUNTS_OF_DIGITS: [&str; 2] = ["mcp_observations_raw_chars", "mcp_observations_final_chars"];

/// A value without what no two runs share: times, durations, and ids that a run makes.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let duration = value.is_number() && ["Ms", "_ms", "Ns", "duration"].iter().any(|it| name.ends_with(it));
                (name.clone(), if duration || COUNTS_OF_DIGITS.contains(&name.as_str()) { Value::from(0) } else { masked(value) })
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Number(number) if number.as_i64().is_some_and(|it| (1_500_000_000_000..2_500_000_000_000).contains(&it)) => json!("<time>"),
        Value::String(text) => of_text(text),
        other => other.clone(),
    }
}

fn of_text(text: &str) -> Value {
    if text.starts_with(['{', '['])
        && let Ok(inner) = serde_json::from_str::<Value>(text)
    {
        return json!({"<json>": masked(&inner)});
    }
    Value::from(without_times(text))
}

/// A text with zeros for the digits of times and durations: those of 13 digits, before `ms`, after `…Ms":`, and of ISO 8601.
fn without_times(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let end = from.find(|it: char| !it.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let named = kept.trim_end_matches([':', '"', '\\', ' ']);
        let is_duration = after.starts_with("ms") || (named.len() < kept.len() && (named.ends_with("Ms") || named.ends_with("Ns")));
        let iso = from.get(..19).is_some_and(|it| it.is_ascii() && it.as_bytes()[10] == b'T' && it.as_bytes()[13] == b':');
        rest = after;
        if iso {
            kept.push_str("<time>");
            rest = from.get(19..).unwrap_or_default().trim_start_matches(|it: char| it.is_ascii_digit() || it == '.');
        } else if is_duration || digits.len() == 13 {
            kept.push('0');
        } else {
            kept.push_str(digits);
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_two_runs_share_is_masked() {
        let value = json!({"at": 1_767_258_000_000_i64, "n": 7, "durationMs": 12, "text": "{\"totalMs\":3,\"x\":1}", "when": "2026-01-01T09:00:00.000Z",
            "said": "{\\\"latencyMs\\\":31} Step=3ms of 40, room 12"});
        let expected = json!({"at": "<time>", "n": 7, "durationMs": 0, "text": {"<json>": {"totalMs": 0, "x": 1}}, "when": "<time>Z",
            "said": "{\\\"latencyMs\\\":0} Step=0ms of 40, room 12"});
        assert_eq!(masked(&value), expected);
    }

    #[test]
    fn a_write_under_two_keys_and_a_turn_too_many_are_found() {
        let left = |keys: usize, turns: Value, answer: &str, in_doubt: bool| Left {
            state: json!({"answers": [answer], "conversations": {"c": {"open": false, "turns": turns}}}),
            calls: BTreeMap::from([("POST /pay {}".to_owned(), keys)]),
            without_key: 0,
            in_doubt,
        };
        let whole = left(1, json!([[1, "closed"]]), "done", false);
        assert_eq!(left(1, json!([[1, "closed"]]), "done", false).compared(&whole).unwrap(), None);
        assert_eq!(left(1, json!([[1, "closed"]]), "in doubt", true).compared(&whole).unwrap(), Some(String::new()));
        assert!(left(1, json!([[1, "closed"]]), "other", false).compared(&whole).unwrap().is_some_and(|it| it.contains("other")));
        assert!(left(2, json!([[1, "closed"]]), "done", false).compared(&whole).is_err());
        assert!(left(0, json!([[1, "closed"], [2, "closed"]]), "done", true).compared(&whole).is_err());
    }
}
