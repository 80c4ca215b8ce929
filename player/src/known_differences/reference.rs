//! Values of rules that are computed from the turn: `${json.payload.value}`, `${message}`, `${before.history}`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use convengine_core::pack::{Pack, PackTurn};
use serde_json::{Map, Value, json};

use super::place::{self, RowPart, Step, places, row_names};

/// The stage of the audit row of a reset, after which the history is out of reach.
const RESET: &str = "CONVERSATION_RESET";

/// A turn of a recording while its expectation is rewritten.
pub(super) struct TurnView<'t> {
    pub names: &'t BTreeMap<String, Vec<String>>,
    pub pack: &'t Pack,
    pub turn: &'t PackTurn,
    /// The expectation, as far as it is rewritten.
    pub expect: &'t Value,
    /// The previous turn of the conversation, recorded and rewritten.
    pub before: Option<(&'t Value, &'t Value)>,
    /// The rewritten expectations of the turns before, in the order of the pack.
    pub turns: &'t [Value],
    /// The number of history rows that a reset has put out of reach.
    pub forgotten: usize,
    /// Where a value goes.
    pub place: Option<&'t [Step]>,
}

impl TurnView<'_> {
    /// Returns the paths that a path with a name stands for.
    pub fn paths(&self, path: &str) -> Vec<String> {
        let rest = |name: &str| path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let named = self.names.iter().find_map(|(name, paths)| Some((paths, rest(name)?)));
        named.map_or_else(|| vec![path.to_owned()], |(paths, rest)| paths.iter().map(|path| format!("{path}{rest}")).collect())
    }

    /// Returns the first value at a path or a name of a computed value; `None` if there is nothing.
    pub fn find(&self, name: &str) -> Option<Value> {
        if let Some(name) = name.strip_prefix("text:") {
            return self.find(name).map(|text| Value::from(text.to_string()));
        }
        if let Some(path) = name.strip_prefix("before.") {
            return self.first(self.before?.1, path);
        }
        if let Some((turn, path)) = name.strip_prefix("turns.").and_then(|it| it.split_once('.')) {
            return self.first(self.turns.get(turn.parse::<usize>().ok()?)?, path);
        }
        match name {
            "absent" => None,
            "parent" => self.parent(),
            "message" => self.message().map(Value::from),
            "history" => self.history(),
            "summary" => self.summary().map(Value::from),
            "summary.length" => Some(json!(self.summary()?.encode_utf16().count())),
            path => self.first(self.expect, path),
        }
    }

    fn first(&self, expect: &Value, path: &str) -> Option<Value> {
        if let Some((first, last)) = path.strip_prefix("audit.").and_then(|it| it.split_once("..")) {
            return rows(expect, first, last);
        }
        let places = self.paths(path).into_iter().flat_map(|it| places(expect, &it, RowPart::Payload));
        places.into_iter().find_map(|place| place::get(expect, &place).cloned())
    }

    /// Computes a value of a rule; `None` if it refers to nothing. Members that refer to nothing are left out.
    ///
    /// # Errors
    /// If a part of a text refers to nothing.
    pub fn compute(&self, value: &Value) -> Result<Option<Value>> {
        Ok(Some(match value {
            Value::String(text) => match text.strip_prefix("${").and_then(|it| it.strip_suffix('}')).filter(|it| !it.contains('}')) {
                Some(name) => return Ok(self.find(name)),
                None => Value::from(self.fill(text)?),
            },
            Value::Array(items) => {
                let computed: Result<Vec<Option<Value>>> = items.iter().map(|it| self.compute(it)).collect();
                computed?.into_iter().flatten().collect()
            }
            Value::Object(members) => {
                let mut computed = Map::new();
                for (name, member) in members {
                    computed.extend(self.compute(member)?.map(|it| (name.clone(), it)));
                }
                Value::Object(computed)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }))
    }

    /// Replaces each `${name}` in a text; what is not a text is printed as JSON.
    pub fn fill(&self, text: &str) -> Result<String> {
        let mut pieces = text.split("${");
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}').with_context(|| format!("missing '}}' in '{text}'"))?;
            match self.find(name).with_context(|| format!("'{name}' refers to nothing"))? {
                Value::String(found) => filled.push_str(&found),
                found => filled.push_str(&found.to_string()),
            }
            filled.push_str(rest);
        }
        Ok(filled)
    }

    /// Returns the name of the object in which the value goes.
    fn parent(&self) -> Option<Value> {
        match self.place? {
            [.., Step::Member(parent), _] => Some(json!(parent)),
            _ => None,
        }
    }

    fn message(&self) -> Option<&str> {
        self.turn.request.as_ref()?.body["message"].as_str()
    }

    /// Returns the history as the previous turn left it, and the rows that the recorded turn adds.
    fn history(&self) -> Option<Value> {
        let recorded = self.expect["history"].as_array()?;
        let rows = |expect: &Value| expect["history"].as_array().cloned().unwrap_or_default();
        let Some((recorded_before, before)) = self.before else { return Some(json!(recorded)) };
        let added = recorded.iter().skip(rows(recorded_before).len()).cloned();
        Some(rows(before).into_iter().chain(added).collect())
    }

    /// Returns the summary of the turn. (docs/decisions/0008-memory.md)
    fn summary(&self) -> Option<String> {
        let (answer, row) = (&self.expect["json"], &self.expect["conversation"]);
        if !answer["conversationId"].is_string() || answer["conversationId"] != row["conversation_id"] {
            return None;
        }
        let setting = |path: &str, default: usize| {
            let found = self.pack.settings.pointer(path).and_then(Value::as_u64);
            found.and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let audited = self.first(self.expect, "audit.USER_INPUT.text").filter(Value::is_string);
        let user = audited.or_else(|| self.message().map(Value::from)).unwrap_or_default();
        let codes = [&row["intent_code"], &row["state_code"]].map(|code| code.as_str().unwrap_or_default());
        let mut summary = format!("intent={}, state={}, user={}", codes[0], codes[1], text(&user));
        let recent = setting("/flow/memory/recentTurnsForSummary", 3).min(setting("/flow/conversationHistory/maxTurns", usize::MAX));
        let rows = self.before.and_then(|it| it.1["history"].as_array()).map_or(&[][..], Vec::as_slice);
        let forgotten = if is_reset(self.expect) { rows.len() } else { self.forgotten };
        let newest = rows.iter().skip(forgotten).rev().take(recent);
        let turns = newest.map(|row| {
            let reply: Value = row["assistant_output"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            format!("{{u={},a={}}}", text(&row["user_input"]), text(&reply["value"]))
        });
        let turns: String = turns.collect();
        if !turns.is_empty() {
            summary += &format!(", recentTurns=[{turns}]");
        }
        if answer["payload"]["type"] == "TEXT" {
            summary += &format!(", response={}", answer["payload"]["value"].as_str().unwrap_or_default());
        }
        let mut units = 0;
        let limit = setting("/flow/memory/summaryMaxChars", 1200);
        let fits = |character: &char| {
            units += character.len_utf16();
            units <= limit
        };
        Some(summary.chars().take_while(fits).collect())
    }
}

/// Whether the conversation is reset in the turn.
pub(super) fn is_reset(expect: &Value) -> bool {
    row_names(expect).iter().any(|it| it == RESET)
}

/// Returns the audit rows from one to another.
fn rows(expect: &Value, first: &str, last: &str) -> Option<Value> {
    let names = row_names(expect);
    let at = |name: &str| names.iter().position(|known| known == name);
    Some(json!(expect["audit"].as_array()?.get(at(first)?..=at(last)?)?))
}
