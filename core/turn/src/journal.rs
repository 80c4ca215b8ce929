//! The journal: a turn's input and the results of its effects, from which everything else follows.
//!
//! ```text
//! {"header":  {"protocol": 1, "engine": "…", "config": "…"},
//!  "input":   {"turn": "…", "conversation": "…", "at": 0, "seed": 0, "program": "pipeline_v2", "event": {…}, "session": {…}},
//!  "entries": [{"effect": 0, "at": 0, "fingerprint": "…", "request": {"kind": "llm", …}, "outcome": {"ok": {"kind": "llm", …}}}]}
//! ```

use std::collections::BTreeMap;

use convengine_text::json::{canonical, diff};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cancel::CancelledTurn;
use super::effect::{Completion, Effect};
use super::effect_id::EffectId;
use super::error::{Divergence, TurnError};
use super::input::TurnInput;
use super::request::EffectResult;
use super::{Map, Millis};

/// The member of a request with its circuit breaker.
const BREAKER: &str = "breaker";

/// The member of a task's call with the container that it serves.
const CONTAINER: &str = "container";

/// The journal format that this build writes and reads. A journal of another one is refused with [`TurnError::Protocol`].
pub const PROTOCOL: u16 = 1;

/// The environment that a journal was written in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The journal format.
    pub protocol: u16,
    /// The build that wrote it, for people: another build replays it too, as long as it requests the same.
    pub engine: String,
    /// Content hash of the configuration, by which a host finds the snapshot to replay with. A replay does not compare it.
    pub config: String,
}

/// One answered effect. A host may store entries one by one, as they come, and join them with the rest of the journal later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The effect.
    pub effect: EffectId,
    /// The turn's clock after the answer.
    pub at: Millis,
    /// 64-bit hash of the request, in hexadecimal: what a replay compares. The circuit breaker of a request is not part of it.
    pub fingerprint: String,
    /// The request, kept to show differences. It is not parsed, so it stays JSON.
    pub request: Option<Value>,
    /// The reply or the error.
    pub outcome: EffectResult,
}

impl JournalEntry {
    /// Returns the entry without its request, which a replay rebuilds.
    #[must_use]
    pub fn without_request(&self) -> JournalEntry {
        let JournalEntry { effect, at, fingerprint, request: _, outcome } = self;
        JournalEntry { effect: *effect, at: *at, fingerprint: fingerprint.clone(), request: None, outcome: outcome.clone() }
    }

    pub(super) fn to_completion(&self) -> Completion {
        Completion { id: self.effect, at: self.at, outcome: self.outcome.clone() }
    }
}

/// Everything about a turn that cannot be derived. `Turn::restore` in `convengine-core` replays it.
///
/// It holds what the user said, as the turn has seen it, and what services answered, so it is stored as carefully as the conversation.
///
/// ```
/// use convengine_turn::{Journal, PROTOCOL};
/// use serde_json::json;
///
/// let stored = json!({
///     "header": {"protocol": 1, "engine": "0.1.0", "config": "5b1c…"},
///     "input": {"turn": "t-1", "conversation": "c-1", "at": 0, "seed": 7, "program": "pipeline_v2",
///         "event": {"text": "hello"}, "session": {"conversation": null}},
///     "entries": [{"effect": 0, "at": 250, "fingerprint": "9f8a…", "request": null, "outcome": {"ok": {"kind": "slept"}}}],
/// });
/// let journal: Journal = serde_json::from_value(stored)?;
/// assert_eq!(journal.header.protocol, PROTOCOL);
/// assert!(journal.check_protocol().is_ok());
/// assert!(journal.canceled.is_none());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// The environment that it was written in.
    pub header: JournalHeader,
    /// The turn's input.
    pub input: TurnInput,
    /// Answered effects, in the order of their answers.
    pub entries: Vec<JournalEntry>,
    /// The cancellation, if any; it then has no further entries.
    #[serde(default, rename = "abandoned", skip_serializing_if = "Option::is_none")]
    pub canceled: Option<CancelledTurn>,
    /// The requests so far, answered or not.
    #[serde(skip)]
    pub(super) requests: BTreeMap<EffectId, Value>,
}

impl Journal {
    pub(super) fn new(config: String, input: TurnInput) -> Self {
        let header = JournalHeader { protocol: PROTOCOL, engine: env!("CARGO_PKG_VERSION").to_owned(), config };
        Journal { header, input, entries: Vec::new(), canceled: None, requests: BTreeMap::new() }
    }

    /// Checks that this build can read the journal. Replays do so themselves.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] when it cannot.
    pub fn check_protocol(&self) -> Result<(), TurnError> {
        if self.header.protocol == PROTOCOL {
            return Ok(());
        }
        Err(TurnError::Protocol { found: self.header.protocol, known: PROTOCOL })
    }

    /// Returns the journal without requests: it replays the same, but a divergence cannot show how a request differs. Requests are most of
    /// a journal, because prompts are.
    #[must_use]
    pub fn without_requests(&self) -> Journal {
        Journal {
            header: self.header.clone(),
            input: self.input.clone(),
            entries: self.entries.iter().map(JournalEntry::without_request).collect(),
            canceled: self.canceled,
            requests: BTreeMap::new(),
        }
    }

    pub(super) fn record_requests(&mut self, effects: &[Effect]) {
        self.requests.extend(effects.iter().map(|effect| (effect.id, json!(effect.request))));
    }

    pub(super) fn record_completion(&mut self, completion: &Completion, at: Millis) {
        let request = self.requests.get(&completion.id).cloned();
        let fingerprint = request.as_ref().map(fingerprint).unwrap_or_default();
        self.entries.push(JournalEntry { effect: completion.id, at, fingerprint, request, outcome: completion.outcome.clone() });
    }
}

/// Returns the fingerprint of a request, without its circuit breaker, which does not change what is asked.
fn fingerprint(request: &Value) -> String {
    let mut request = std::borrow::Cow::Borrowed(request);
    if request.get(BREAKER).is_some() {
        request.to_mut().as_object_mut().and_then(|it| it.shift_remove(BREAKER));
    }
    hash(&request)
}

fn hash(request: &Value) -> String {
    let mut hash = canonical::Hasher::default();
    hash.add_json(request);
    hash.finish().chars().take(16).collect()
}

/// Returns the call of a task as older builds requested it: without the container that it serves. `None` for other requests.
fn without_container(request: &Value) -> Option<Value> {
    let mut older = request.clone();
    if older.as_object_mut()?.shift_remove(CONTAINER).is_some() {
        return Some(older);
    }
    // An extension gets it with its first message, a service in the body.
    if let Some(call) = older.pointer_mut("/messages/0/call").and_then(Value::as_object_mut) {
        return call.shift_remove(CONTAINER).map(|_| older);
    }
    let mut body: Map = serde_json::from_str(older.get("body")?.as_str()?).ok()?;
    body.shift_remove(CONTAINER)?;
    older.as_object_mut()?.insert("body".to_owned(), Value::String(Value::Object(body).to_string()));
    Some(older)
}

/// Compares a replayed request with the recorded one. A divergence has no position yet.
pub(super) fn check_request(index: usize, entry: &JournalEntry, replayed: Option<&Value>) -> Result<(), Box<Divergence>> {
    let diverged =
        |difference: String| Box::new(Divergence { index, effect: entry.effect, step: String::new(), ports: Vec::new(), difference });
    let Some(replayed) = replayed else {
        return Err(diverged("requested by the recorded turn, but not by the replay".to_owned()));
    };
    // Older journals have fingerprints of the whole request.
    let is_recorded = |request: &Value| fingerprint(request) == entry.fingerprint || hash(request) == entry.fingerprint;
    if is_recorded(replayed) || without_container(replayed).is_some_and(|it| is_recorded(&it)) {
        return Ok(());
    }
    let Some(recorded) = &entry.request else {
        return Err(diverged("the request fingerprint differs; the recorded request was not kept".to_owned()));
    };
    let lines: Vec<String> = diff::diff_leaves(recorded, replayed).iter().map(ToString::to_string).collect();
    Err(diverged(lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_circuit_breaker_does_not_make_another_request() {
        let request = json!({"kind": "http", "url": "http://a/"});
        let mut guarded = request.clone();
        guarded["breaker"] = json!({"threshold": 5});
        let entry = |fingerprint: String| JournalEntry {
            effect: EffectId(1),
            at: 0,
            fingerprint,
            request: None,
            outcome: EffectResult::Error(crate::EffectError::new(crate::EffectErrorKind::Timeout, "")),
        };
        let is_same = |recorded: String, replayed: &Value| check_request(0, &entry(recorded), Some(replayed)).is_ok();
        assert!(is_same(fingerprint(&request), &guarded) && is_same(fingerprint(&guarded), &request));
        assert!(is_same(hash(&guarded), &guarded), "of an older journal");
        assert!(!is_same(fingerprint(&request), &json!({"kind": "http", "url": "http://b/"})));
    }

    #[test]
    fn a_call_that_was_recorded_without_its_container_is_the_same() {
        let container = json!({"page_id": 1});
        let call = |task: &str| json!({"task": task, "view": {"b": 1.5, "a": null}});
        let served = |task: &str| json!({"task": task, "container": container, "view": {"b": 1.5, "a": null}});
        let message = |call: Value| json!({"kind": "extension", "messages": [{"abi": 1, "call": call}]});
        let service = |call: Value| json!({"kind": "http", "url": "http://a/", "body": call.to_string()});
        let is_same = |recorded: &Value, replayed: &Value| {
            let outcome = EffectResult::Error(crate::EffectError::new(crate::EffectErrorKind::Timeout, ""));
            let entry = JournalEntry { effect: EffectId(1), at: 0, fingerprint: fingerprint(recorded), request: None, outcome };
            check_request(0, &entry, Some(replayed)).is_ok()
        };
        assert!(is_same(&call("a:b"), &served("a:b")));
        assert!(is_same(&message(call("a:b")), &message(served("a:b"))));
        assert!(is_same(&service(call("a:b")), &service(served("a:b"))));
        assert!(!is_same(&call("a:c"), &served("a:b")) && !is_same(&service(call("a:c")), &service(served("a:b"))));
    }
}
