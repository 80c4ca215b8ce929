//! What a conversation leaves in a database and at the services around it, in a form in which two runs can be compared.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail, ensure};
use convengine_core::json::diff;
use convengine_server::play::fake_http::RecordedCall;
use convengine_server::store::assistant::session;
use convengine_server::store::{DatabaseConfig, audit, load, open_reader_pool, turn};
use serde_json::{Map, Value, json};

use super::doubt::{Asked, EffectOf, asked, wrong_call, wrong_doubt};

/// What is left.
#[derive(Debug, Default)]
pub struct Left {
    /// What was said, and what is stored of each conversation, without times and the ids of turns.
    pub state: Value,
    /// For each message its conversation and the number of its turn.
    messages: Vec<(String, u64)>,
    /// All calls.
    calls: Vec<RecordedCall>,
    /// All effects, by the journals.
    asked: Vec<Asked>,
    /// Effects that had left without an answer when a server died.
    unanswered: BTreeSet<EffectOf>,
    /// The first turn of which an effect was given up.
    doubt: Option<(String, u64)>,
}

/// A message with its answer.
#[derive(Debug)]
pub struct Said {
    /// The conversation.
    pub conversation: String,
    /// Status and body, masked.
    pub answer: Value,
}

/// How a run compares with the undisturbed one when nothing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alike {
    /// It left the same.
    Equal,
    /// A call that must not be repeated was in doubt, and its turn says so; what came before it is the same.
    InDoubt,
}

impl Left {
    /// Reads what is left of conversations.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn of(url: &str, said: Vec<Said>, calls: Vec<RecordedCall>, unanswered: BTreeSet<EffectOf>) -> Result<Left> {
        let place = DatabaseConfig { url: url.to_owned(), full_sync: false };
        let pool = open_reader_pool(&place).await.map_err(|it| anyhow!("{it}"))?;
        let mut left = Left { calls, unanswered, ..Left::default() };
        let (mut states, mut counts): (Map<String, Value>, BTreeMap<String, u64>) = (Map::new(), BTreeMap::new());
        for it in &said {
            let number = counts.entry(it.conversation.clone()).or_default();
            *number += 1;
            left.messages.push((it.conversation.clone(), *number));
        }
        for id in counts.keys() {
            let found = load::load_conversation(&pool, id, 500, None).await?;
            let turns = turn::list_ended(&pool, id).await?;
            let rows = audit::list_for_conversation(&pool, id).await?;
            let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
            let mut rows = rows.iter().map(|it| json!({"stage": it.stage, "payload": parsed(&it.payload_json)}));
            let mut audits = Vec::new();
            for turn in &turns {
                let (asked, count) = asked(&pool, turn).await?;
                if asked.iter().any(|it| it.interrupted) && left.doubt.is_none() {
                    left.doubt = Some((id.clone(), turn.number.into()));
                }
                left.asked.extend(asked);
                audits.push(rows.by_ref().take(count).collect::<Vec<_>>());
            }
            ensure!(rows.next().is_none(), "there are more rows of the audit than the turns of {id} have");
            let turns: Vec<Value> = turns.iter().map(|it| json!([it.number, it.status])).collect();
            let flow = session::find(&pool, id).await?.map(|it| it.state);
            let state = json!({"open": found.has_open_turn, "session": found.session, "flow": flow, "turns": turns, "audit": audits});
            states.insert(id.clone(), masked(&state));
        }
        pool.close().await;
        let answers: Vec<Value> = said.into_iter().map(|it| it.answer).collect();
        left.state = json!({"answers": answers, "conversations": states});
        Ok(left)
    }

    /// How it compares with what the undisturbed run has left. `own_words` are those with which the pack's rows speak of a doubt.
    ///
    /// # Errors
    /// When something was written twice, given up without need or without a word to the user, or is otherwise not what it should be.
    pub fn compared(&self, whole: &Left, own_words: Option<&str>) -> Result<Alike> {
        let wrong = || wrong_call(&self.calls, &self.asked).or_else(|| wrong_doubt(&self.asked, &self.unanswered));
        if let Some(wrong) = self.unfinished(whole).or_else(wrong) {
            bail!("{wrong}");
        }
        let (ours, theirs) = (self.keys(), whole.keys());
        if let Some((call, keys)) = ours.iter().find(|(call, keys)| theirs.get(*call).is_none_or(|it| it.len() < keys.len())) {
            // Where the conversation goes another way after a doubt, nothing may be written that was not to be written anyhow.
            bail!("{call} was made with {} keys", keys.len());
        }
        let Some(doubt) = &self.doubt else {
            if let Some((call, keys)) = theirs.iter().find(|(call, keys)| ours.get(*call).map(BTreeSet::len) != Some(keys.len())) {
                bail!("{call} was to be made {} times", keys.len());
            }
            equal(&whole.state, &self.state)?;
            return Ok(Alike::Equal);
        };
        equal(&whole.before(doubt), &self.before(doubt))?;
        self.is_honest(doubt, own_words)?;
        Ok(Alike::InDoubt)
    }

    /// Each call that may write with its keys.
    fn keys(&self) -> BTreeMap<String, BTreeSet<&str>> {
        let mut keys: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for RecordedCall { method, path, body, idempotency_key: key } in self.calls.iter().filter(|it| it.method != "GET") {
            keys.entry(format!("{method} {path} {body}")).or_default().extend(key.as_deref());
        }
        keys
    }

    /// What was answered and stored before a turn of a conversation; all of other conversations.
    fn before(&self, (conversation, number): &(String, u64)) -> Value {
        let is_before = |(of, turn): &(String, u64)| of != conversation || turn < number;
        let answers = self.state["answers"].as_array().into_iter().flatten();
        let answers: Vec<&Value> = answers.zip(&self.messages).filter(|(_, message)| is_before(message)).map(|it| it.0).collect();
        let mut states = self.state["conversations"].clone();
        let audit: Vec<Value> = self.audit(conversation).take(usize::try_from(number - 1).unwrap_or_default()).cloned().collect();
        states[conversation] = json!({"audit": audit});
        json!({"answers": answers, "conversations": states})
    }

    /// The rows of the audit of each turn.
    fn audit(&self, conversation: &str) -> impl Iterator<Item = &Value> {
        self.state["conversations"][conversation]["audit"].as_array().into_iter().flatten()
    }

    /// The turn in doubt says so: in the engine's words, or in the pack's own.
    fn is_honest(&self, doubt: &(String, u64), own_words: Option<&str>) -> Result<()> {
        let at = self.messages.iter().position(|it| it == doubt);
        let answer = at.map(|it| self.state["answers"][it]["body"]["payload"].to_string()).unwrap_or_default();
        let rows = self.audit(&doubt.0).nth(usize::try_from(doubt.1 - 1)?).and_then(Value::as_array);
        let engine =
            rows.into_iter().flatten().any(|row| row["stage"] == "ASSISTANT_OUTPUT" && row["payload"]["responseType"] == "UNCONFIRMED");
        let own = own_words.is_some_and(|it| answer.contains(it));
        ensure!(engine || own, "the turn in doubt answers {answer}");
        Ok(())
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

/// Members that count the characters of a text, which may quote a duration: 9 ms are one digit fewer than 10.
const COUNTS_OF_DIGITS: [&str; 3] = ["mcp_observations_raw_chars", "mcp_observations_final_chars", "summaryChars"];

/// A value without what no two runs share: times, durations, and ids that a run makes.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let duration = value.is_number() && (name == "ms" || ["Ms", "_ms", "Ns", "duration"].iter().any(|it| name.ends_with(it)));
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

fn equal(whole: &Value, left: &Value) -> Result<()> {
    let found = diff::diff_leaves(whole, left);
    let lines: Vec<String> = found.iter().take(3).map(ToString::to_string).collect();
    ensure!(found.is_empty(), "{} differences: {}", found.len(), lines.join("; "));
    Ok(())
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

    /// One conversation of two turns; the second makes a call.
    fn left(answers: [&str; 2], keys: &[&str], words: &str, interrupted: bool) -> Left {
        let call = |key: &&str| RecordedCall {
            method: "POST".to_owned(),
            path: "/pay".to_owned(),
            body: "{}".to_owned(),
            idempotency_key: Some((*key).to_owned()),
        };
        let asked = |key: &&str| Asked { effect: ("t".to_owned(), 0), key: (*key).to_owned(), once: true, interrupted };
        let output = json!({"stage": "ASSISTANT_OUTPUT", "payload": {"responseType": words}});
        let answers = answers.map(|it| json!({"status": 200, "body": {"payload": {"value": it}}}));
        let state = json!({"open": false, "turns": [[1, "closed"], [2, "closed"]], "audit": [[{"stage": "USER_INPUT"}], [output]]});
        Left {
            state: json!({"answers": answers, "conversations": {"c": state}}),
            messages: vec![("c".to_owned(), 1), ("c".to_owned(), 2)],
            calls: keys.iter().map(call).collect(),
            asked: keys.iter().map(asked).collect(),
            unanswered: if interrupted { BTreeSet::from([("t".to_owned(), 0)]) } else { BTreeSet::new() },
            doubt: interrupted.then(|| ("c".to_owned(), 2)),
        }
    }

    #[test]
    fn a_run_is_equal_or_in_doubt_and_says_so() {
        let whole = left(["hi", "paid"], &["k"], "EXACT", false);
        let compared = |left: &Left| left.compared(&whole, Some("nobody knows")).map_err(|it| it.to_string());
        assert_eq!(compared(&left(["hi", "paid"], &["k"], "EXACT", false)), Ok(Alike::Equal));
        assert!(compared(&left(["hi", "other"], &["k"], "EXACT", false)).unwrap_err().contains("other"));
        assert!(compared(&left(["hi", "paid"], &["k", "l"], "EXACT", false)).unwrap_err().contains("2 keys"));
        assert!(compared(&left(["hi", "paid"], &[], "EXACT", false)).unwrap_err().contains("was to be made"));
        assert_eq!(compared(&left(["hi", "not confirmed"], &["k"], "UNCONFIRMED", true)), Ok(Alike::InDoubt));
        assert_eq!(compared(&left(["hi", "nobody knows"], &["k"], "EXACT", true)), Ok(Alike::InDoubt));
        assert!(compared(&left(["hi", "paid"], &["k"], "EXACT", true)).unwrap_err().contains("answers"), "it says nothing of the doubt");
        assert!(
            compared(&left(["other", "not confirmed"], &["k"], "UNCONFIRMED", true)).unwrap_err().contains("other"),
            "before the doubt"
        );
        let mut again = left(["hi", "paid"], &["k"], "EXACT", false);
        again.calls.extend(again.calls.clone());
        assert!(compared(&again).unwrap_err().contains("2 times under the key"));
    }
}
