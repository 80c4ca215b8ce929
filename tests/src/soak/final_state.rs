//! The final state of a run: what its conversations stored and which external calls were made, in a comparable form.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail, ensure};
use convengine_core::json::diff;
use convengine_player::fake_http::RecordedCall;
use convengine_storage::assistant::session;
use convengine_storage::{DatabaseConfig, audit, load, open_reader_pool, turn};
use convengine_turns::resume_token::TOKEN_PREFIX;
use serde_json::{Map, Value, json};

use super::doubt::{EffectRef, JournalEffect, find_invalid_call, find_invalid_interruption, replay_effects};

/// The final state of a run.
#[derive(Debug, Default)]
pub struct FinalState {
    /// The answers, and the stored data of each conversation, without times and turn ids.
    pub state: Value,
    /// The conversation and the turn number of each message.
    messages: Vec<(String, u64)>,
    /// All external calls.
    calls: Vec<RecordedCall>,
    /// All effects of the journals.
    effects: Vec<JournalEffect>,
    /// The effects that were sent and unanswered when a server died.
    unanswered: BTreeSet<EffectRef>,
    /// The first turn with an interrupted effect.
    doubtful_turn: Option<(String, u64)>,
}

/// A message with its answer.
#[derive(Debug)]
pub struct AnsweredMessage {
    /// The conversation.
    pub conversation: String,
    /// Status and body, masked.
    pub answer: Value,
}

/// The valid results of a comparison with the undisturbed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The final states are equal.
    Equal,
    /// A non-repeatable call was in doubt, and its turn reports it; the states before it are equal.
    InDoubt,
}

impl FinalState {
    /// Reads the stored data of the answered conversations.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn read(
        url: &str,
        said: Vec<AnsweredMessage>,
        calls: Vec<RecordedCall>,
        unanswered: BTreeSet<EffectRef>,
    ) -> Result<FinalState> {
        let place = DatabaseConfig { url: url.to_owned(), full_sync: false };
        let pool = open_reader_pool(&place).await.map_err(|it| anyhow!("{it}"))?;
        let mut left = FinalState { calls, unanswered, ..FinalState::default() };
        let (mut states, mut counts): (Map<String, Value>, BTreeMap<String, u64>) = (Map::new(), BTreeMap::new());
        for message in &said {
            let number = counts.entry(message.conversation.clone()).or_default();
            *number += 1;
            left.messages.push((message.conversation.clone(), *number));
        }
        for id in counts.keys() {
            let found = load::load_conversation(&pool, id, 500, None).await?;
            let turns = turn::list_ended(&pool, id).await?;
            let rows = audit::list_for_conversation(&pool, id).await?;
            let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            let mut rows = rows.iter().map(|row| json!({"stage": row.stage, "payload": parsed(&row.payload_json)}));
            let mut audits = Vec::new();
            for turn in &turns {
                let (asked, count) = replay_effects(&pool, turn).await?;
                if asked.iter().any(|it| it.interrupted) && left.doubtful_turn.is_none() {
                    left.doubtful_turn = Some((id.clone(), turn.number.into()));
                }
                left.effects.extend(asked);
                audits.push(rows.by_ref().take(count).collect::<Vec<_>>());
            }
            ensure!(rows.next().is_none(), "conversation {id} has more audit rows than its turns");
            let turns: Vec<Value> = turns.iter().map(|turn| json!([turn.number, turn.status])).collect();
            let flow = session::find(&pool, id).await?.map(|it| it.state);
            let state = json!({"open": found.has_open_turn, "session": found.session, "flow": flow, "turns": turns, "audit": audits});
            states.insert(id.clone(), mask(&state));
        }
        pool.close().await;
        let answers: Vec<Value> = said.into_iter().map(|it| it.answer).collect();
        left.state = json!({"answers": answers, "conversations": states});
        Ok(left)
    }

    /// Replaces an id that differs between runs by a name, also in keys of calls.
    ///
    /// # Errors
    /// If the state is not JSON with the name, which it is for names that need no escapes.
    pub fn rename(&mut self, id: &str, name: &str) -> Result<()> {
        let replace = |text: &mut String| *text = text.replace(id, name);
        self.state = serde_json::from_str(&self.state.to_string().replace(id, name))?;
        self.messages.iter_mut().for_each(|it| replace(&mut it.0));
        for call in &mut self.calls {
            replace(&mut call.path);
            replace(&mut call.body);
            call.body = mask_times(&mask_tokens(&call.body));
            if let Some(key) = &mut call.idempotency_key {
                replace(key);
            }
        }
        self.effects.iter_mut().for_each(|it| replace(&mut it.key));
        if let Some(turn) = &mut self.doubtful_turn {
            replace(&mut turn.0);
        }
        Ok(())
    }

    /// Compares with the undisturbed run of a chain, whose doubt is the failure of a step.
    ///
    /// # Errors
    /// As [`FinalState::compare`].
    pub fn compare_run(&self, baseline: &FinalState) -> Result<Comparison> {
        if self.doubtful_turn.is_none() {
            return self.compare(baseline, None);
        }
        let find_error =
            || find_invalid_call(&self.calls, &self.effects).or_else(|| find_invalid_interruption(&self.effects, &self.unanswered));
        if let Some(error) = find_error() {
            bail!("{error}");
        }
        let (keys_here, keys_there) = (self.keys_by_call(), baseline.keys_by_call());
        let extra = keys_here.iter().find(|(call, keys)| keys_there.get(*call).is_none_or(|theirs| theirs.len() < keys.len()));
        ensure!(extra.is_none(), "{extra:?} was not made by the undisturbed run");
        let run = &self.state["answers"][0]["body"];
        let entries = ["primary_trace", "branch_trace"].iter().filter_map(|it| run[it].as_array()).flatten();
        let is_reported = entries.into_iter().any(|entry| entry["status"] == "failed" && entry["error"]["code"].is_string());
        ensure!(is_reported, "the step in doubt is not reported: {run}");
        Ok(Comparison::InDoubt)
    }

    /// Compares with the undisturbed run. `own_words` is the text with which the pack's own rows report a call in doubt.
    ///
    /// # Errors
    /// If something was written twice, interrupted unnecessarily or without a report to the user, or differs otherwise.
    pub fn compare(&self, baseline: &FinalState, own_words: Option<&str>) -> Result<Comparison> {
        let find_error =
            || find_invalid_call(&self.calls, &self.effects).or_else(|| find_invalid_interruption(&self.effects, &self.unanswered));
        if let Some(error) = self.find_unfinished(baseline).or_else(find_error) {
            bail!("{error}");
        }
        let (keys_here, keys_there) = (self.keys_by_call(), baseline.keys_by_call());
        if let Some((call, keys)) =
            keys_here.iter().find(|(call, keys)| keys_there.get(*call).is_none_or(|theirs| theirs.len() < keys.len()))
        {
            // Even if the conversation takes another path after the doubt, it may not write anything that the undisturbed run does not.
            bail!("{call} was made with {} keys", keys.len());
        }
        let Some(doubt) = &self.doubtful_turn else {
            if let Some((call, keys)) = keys_there.iter().find(|(call, keys)| keys_here.get(*call).map(BTreeSet::len) != Some(keys.len())) {
                bail!("{call} should have been made {} times", keys.len());
            }
            check_equal(&baseline.state, &self.state)?;
            return Ok(Comparison::Equal);
        };
        check_equal(&baseline.state_before(doubt), &self.state_before(doubt))?;
        self.check_doubt_is_reported(doubt, own_words)?;
        Ok(Comparison::InDoubt)
    }

    /// Returns the idempotency keys of each call that may write.
    fn keys_by_call(&self) -> BTreeMap<String, BTreeSet<&str>> {
        let mut keys: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for RecordedCall { method, path, body, idempotency_key: key } in self.calls.iter().filter(|it| it.method != "GET") {
            keys.entry(format!("{method} {path} {body}")).or_default().extend(key.as_deref());
        }
        keys
    }

    /// Returns what was answered and stored before a turn of a conversation, and all data of other conversations.
    fn state_before(&self, (conversation, number): &(String, u64)) -> Value {
        let is_before = |(of, turn): &(String, u64)| of != conversation || turn < number;
        let answers = self.state["answers"].as_array().into_iter().flatten();
        let answers: Vec<&Value> = answers.zip(&self.messages).filter(|(_, message)| is_before(message)).map(|it| it.0).collect();
        let mut states = self.state["conversations"].clone();
        let audit: Vec<Value> = self.audit_by_turn(conversation).take(usize::try_from(number - 1).unwrap_or_default()).cloned().collect();
        states[conversation] = json!({"audit": audit});
        json!({"answers": answers, "conversations": states})
    }

    /// Returns the audit rows of each turn.
    fn audit_by_turn(&self, conversation: &str) -> impl Iterator<Item = &Value> {
        self.state["conversations"][conversation]["audit"].as_array().into_iter().flatten()
    }

    /// Checks that the turn in doubt reports it, in the engine's words or in the pack's own.
    fn check_doubt_is_reported(&self, doubt: &(String, u64), own_words: Option<&str>) -> Result<()> {
        let at = self.messages.iter().position(|it| it == doubt);
        let answer = at.map(|it| self.state["answers"][it]["body"]["payload"].to_string()).unwrap_or_default();
        let rows = self.audit_by_turn(&doubt.0).nth(usize::try_from(doubt.1 - 1)?).and_then(Value::as_array);
        let engine =
            rows.into_iter().flatten().any(|row| row["stage"] == "ASSISTANT_OUTPUT" && row["payload"]["responseType"] == "UNCONFIRMED");
        let own = own_words.is_some_and(|it| answer.contains(it));
        ensure!(engine || own, "the turn in doubt answers {answer}");
        Ok(())
    }

    /// Returns a conversation whose turns are not closed or differ from the undisturbed run.
    fn find_unfinished(&self, baseline: &FinalState) -> Option<String> {
        let turns = |state: &Value| state["conversations"].as_object().cloned().unwrap_or_default();
        let expected = turns(&baseline.state);
        turns(&self.state).into_iter().find_map(|(id, stored)| {
            let expected_turns = &expected.get(&id)?["turns"];
            (stored["open"] != false || stored["turns"] != *expected_turns)
                .then(|| format!("the turns of {id} are {}, expected {expected_turns}", stored["turns"]))
        })
    }
}

/// Members with the length of a text that may contain a duration: 9 ms has one digit fewer than 10 ms.
const LENGTH_MEMBERS: [&str; 3] = ["mcp_observations_raw_chars", "mcp_observations_final_chars", "summaryChars"];

/// Masks what differs between runs: times, durations, and lengths that depend on them.
pub fn mask(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let duration =
                    value.is_number() && (name == "ms" || ["Ms", "_ms", "Ns", "duration"].iter().any(|unit| name.ends_with(unit)));
                (name.clone(), if duration || LENGTH_MEMBERS.contains(&name.as_str()) { Value::from(0) } else { mask(value) })
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(mask).collect(),
        Value::Number(number) if number.as_i64().is_some_and(|it| (1_500_000_000_000..2_500_000_000_000).contains(&it)) => json!("<time>"),
        Value::String(text) => mask_text(text),
        other => other.clone(),
    }
}

fn mask_text(text: &str) -> Value {
    if text.starts_with(['{', '['])
        && let Ok(inner) = serde_json::from_str::<Value>(text)
    {
        return json!({"<json>": mask(&inner)});
    }
    Value::from(mask_times(text))
}

/// Masks resume tokens, which are random.
fn mask_tokens(text: &str) -> String {
    let mut parts = text.split(TOKEN_PREFIX);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |masked, rest| {
        masked + "<token>" + rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric() || "-_".contains(character))
    })
}

/// Masks the times and durations in a text: numbers of 13 digits, before `ms` or after `…Ms":`, and ISO 8601 times.
fn mask_times(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        masked.push_str(before);
        let end = from.find(|it: char| !it.is_ascii_digit()).unwrap_or(from.len());
        let (digits, after) = from.split_at(end);
        let named = masked.trim_end_matches([':', '"', '\\', ' ']);
        let is_duration = after.starts_with("ms") || (named.len() < masked.len() && (named.ends_with("Ms") || named.ends_with("Ns")));
        let iso = from.get(..19).is_some_and(|time| time.is_ascii() && time.as_bytes()[10] == b'T' && time.as_bytes()[13] == b':');
        rest = after;
        if iso {
            masked.push_str("<time>");
            rest = from.get(19..).unwrap_or_default().trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
        } else if is_duration || digits.len() == 13 {
            masked.push('0');
        } else {
            masked.push_str(digits);
        }
    }
    masked.push_str(rest);
    masked
}

fn check_equal(expected: &Value, actual: &Value) -> Result<()> {
    let found = diff::diff_leaves(expected, actual);
    let lines: Vec<String> = found.iter().take(3).map(ToString::to_string).collect();
    ensure!(found.is_empty(), "{} differences: {}", found.len(), lines.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_run_specific_values_are_masked() {
        let value = json!({"at": 1_767_258_000_000_i64, "n": 7, "durationMs": 12, "text": "{\"totalMs\":3,\"x\":1}", "when": "2026-01-01T09:00:00.000Z",
            "said": "{\\\"latencyMs\\\":31} Step=3ms of 40, room 12"});
        let expected = json!({"at": "<time>", "n": 7, "durationMs": 0, "text": {"<json>": {"totalMs": 0, "x": 1}}, "when": "<time>Z",
            "said": "{\\\"latencyMs\\\":0} Step=0ms of 40, room 12"});
        assert_eq!(mask(&value), expected);
    }

    /// Returns the state of one conversation with two turns; the second makes a call.
    fn final_state(answers: [&str; 2], keys: &[&str], words: &str, interrupted: bool) -> FinalState {
        let call = |key: &&str| RecordedCall {
            method: "POST".to_owned(),
            path: "/pay".to_owned(),
            body: "{}".to_owned(),
            idempotency_key: Some((*key).to_owned()),
        };
        let asked = |key: &&str| JournalEffect {
            effect: ("t".to_owned(), 0),
            key: (*key).to_owned(),
            non_repeatable: true,
            is_call: true,
            interrupted,
        };
        let output = json!({"stage": "ASSISTANT_OUTPUT", "payload": {"responseType": words}});
        let answers = answers.map(|answer| json!({"status": 200, "body": {"payload": {"value": answer}}}));
        let state = json!({"open": false, "turns": [[1, "closed"], [2, "closed"]], "audit": [[{"stage": "USER_INPUT"}], [output]]});
        FinalState {
            state: json!({"answers": answers, "conversations": {"c": state}}),
            messages: vec![("c".to_owned(), 1), ("c".to_owned(), 2)],
            calls: keys.iter().map(call).collect(),
            effects: keys.iter().map(asked).collect(),
            unanswered: if interrupted { BTreeSet::from([("t".to_owned(), 0)]) } else { BTreeSet::new() },
            doubtful_turn: interrupted.then(|| ("c".to_owned(), 2)),
        }
    }

    #[test]
    fn a_run_is_equal_or_reports_its_doubt() {
        let whole = final_state(["hi", "paid"], &["k"], "EXACT", false);
        let compared = |left: &FinalState| left.compare(&whole, Some("nobody knows")).map_err(|difference| difference.to_string());
        assert_eq!(compared(&final_state(["hi", "paid"], &["k"], "EXACT", false)), Ok(Comparison::Equal));
        assert!(compared(&final_state(["hi", "other"], &["k"], "EXACT", false)).unwrap_err().contains("other"));
        assert!(compared(&final_state(["hi", "paid"], &["k", "l"], "EXACT", false)).unwrap_err().contains("2 keys"));
        assert!(compared(&final_state(["hi", "paid"], &[], "EXACT", false)).unwrap_err().contains("should have been made"));
        assert_eq!(compared(&final_state(["hi", "not confirmed"], &["k"], "UNCONFIRMED", true)), Ok(Comparison::InDoubt));
        assert_eq!(compared(&final_state(["hi", "nobody knows"], &["k"], "EXACT", true)), Ok(Comparison::InDoubt));
        assert!(
            compared(&final_state(["hi", "paid"], &["k"], "EXACT", true)).unwrap_err().contains("answers"),
            "it does not report the doubt"
        );
        assert!(
            compared(&final_state(["other", "not confirmed"], &["k"], "UNCONFIRMED", true)).unwrap_err().contains("other"),
            "before the doubt"
        );
        let mut again = final_state(["hi", "paid"], &["k"], "EXACT", false);
        again.calls.extend(again.calls.clone());
        assert!(compared(&again).unwrap_err().contains("2 times with the key"));
    }
}
