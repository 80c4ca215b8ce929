//! The journal: the input and the results of effects, from which everything else follows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Millis;
use super::abandon::Abandoned;
use super::effect::{Answer, Completion, Effect, EffectId};
use super::error::{Diverged, TurnError};
use super::input::TurnInput;
use crate::json::{canon, diff};

/// The shape of journals that this build writes and reads.
pub const PROTOCOL: u16 = 1;

/// What a journal was made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Shape of the journal.
    pub protocol: u16,
    /// The build that wrote it.
    pub engine: String,
    /// Content hash of the configuration.
    pub config: String,
}

/// One answered effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Which effect.
    pub effect: EffectId,
    /// The turn's clock after the answer.
    pub at: Millis,
    /// 64-bit hash of the request, in hexadecimal.
    pub fingerprint: String,
    /// The request itself, so that a difference can be shown. Nothing else reads it, so it stays JSON.
    pub request: Option<Value>,
    /// The reply or the error.
    pub outcome: Answer,
}

impl Entry {
    pub(super) fn completion(&self) -> Completion {
        Completion { id: self.effect, at: self.at, outcome: self.outcome.clone() }
    }
}

/// Everything that a turn cannot derive again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    /// What it was made with.
    pub header: Header,
    /// What the turn started from.
    pub input: TurnInput,
    /// Answered effects, in the order of their answers.
    pub entries: Vec<Entry>,
    /// That it was given up, and why; it then has no further entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<Abandoned>,
    /// Requests that were asked, answered or not.
    #[serde(skip)]
    pub(super) requests: BTreeMap<EffectId, Value>,
}

impl Journal {
    pub(super) fn new(config: String, input: TurnInput) -> Self {
        let header = Header { protocol: PROTOCOL, engine: env!("CARGO_PKG_VERSION").to_owned(), config };
        Journal { header, input, entries: Vec::new(), abandoned: None, requests: BTreeMap::new() }
    }

    /// Says whether this build can read the journal.
    ///
    /// # Errors
    /// [`TurnError::Protocol`] when it cannot.
    pub fn check(&self) -> Result<(), TurnError> {
        if self.header.protocol == PROTOCOL {
            return Ok(());
        }
        Err(TurnError::Protocol { found: self.header.protocol, known: PROTOCOL })
    }

    /// The journal as short as it can be: a replay is the same, but cannot print how a request differs.
    #[must_use]
    pub fn lean(&self) -> Journal {
        let entry = |it: &Entry| Entry {
            effect: it.effect,
            at: it.at,
            fingerprint: it.fingerprint.clone(),
            request: None,
            outcome: it.outcome.clone(),
        };
        Journal {
            header: self.header.clone(),
            input: self.input.clone(),
            entries: self.entries.iter().map(entry).collect(),
            abandoned: self.abandoned,
            requests: BTreeMap::new(),
        }
    }

    pub(super) fn asked(&mut self, effects: &[Effect]) {
        self.requests.extend(effects.iter().map(|it| (it.id, serde_json::to_value(&it.request).unwrap_or_default())));
    }

    pub(super) fn record(&mut self, completion: &Completion, at: Millis) {
        let request = self.requests.get(&completion.id).cloned();
        let fingerprint = request.as_ref().map(fingerprint).unwrap_or_default();
        self.entries.push(Entry { effect: completion.id, at, fingerprint, request, outcome: completion.outcome.clone() });
    }
}

fn fingerprint(request: &Value) -> String {
    let mut hash = canon::Hasher::default();
    hash.json(request);
    hash.finish().chars().take(16).collect()
}

/// Compares what a replay asks with what was recorded.
pub(super) fn same_request(index: usize, entry: &Entry, asked: Option<&Value>, step: &str) -> Result<(), TurnError> {
    let diverged =
        |difference: String| TurnError::Diverged(Box::new(Diverged { index, effect: entry.effect, step: step.to_owned(), difference }));
    let Some(asked) = asked else {
        return Err(diverged("the recorded turn asked for it, the replay does not".to_owned()));
    };
    if fingerprint(asked) == entry.fingerprint {
        return Ok(());
    }
    let Some(recorded) = &entry.request else {
        return Err(diverged("the request has another fingerprint; the recorded one was not kept".to_owned()));
    };
    let lines: Vec<String> = diff::leaves(recorded, asked).iter().map(ToString::to_string).collect();
    Err(diverged(lines.join("\n")))
}
