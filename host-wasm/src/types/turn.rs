//! The objects of a turn.

use convengine_core::turn::{Candidate as TurnCandidate, EffectId, Explanation as TurnExplanation, Map, Millis, Verdict};
use serde::Serialize;
use serde_json::Value;
use tsify::Tsify;
use wasm_bindgen::prelude::wasm_bindgen;

/// The message of a turn. Its parameters and its event are JSON texts, which preserve the spelling of numbers.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct TurnMessage<'m> {
    /// The conversation's id.
    pub conversation_id: String,
    /// The user's text.
    #[tsify(type = "string | null")]
    pub message: Option<&'m str>,
    /// Whether to reset the conversation.
    pub reset: bool,
    /// Time of arrival, in milliseconds since 1970.
    #[tsify(type = "number")]
    pub at: Millis,
    /// The seed of the turn's ids.
    pub seed: u64,
    /// The parameters, as JSON.
    pub input_params: String,
    /// The event of a session as JSON, in place of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The whole message, for `start`.
    pub text: String,
}

/// The answer to an effect.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The completion for `resume`, as JSON.
    pub completion: String,
    /// Its outcome, as JSON.
    pub outcome: String,
    /// How long the answer takes.
    pub delay_ms: u64,
}

/// An answered effect of a turn.
#[derive(Serialize, Tsify)]
pub struct Exchange {
    /// The effect's id.
    #[tsify(type = "number")]
    pub effect: EffectId,
    /// The clock of the turn after the answer.
    #[tsify(type = "number")]
    pub at: Millis,
    /// The request, as JSON.
    #[tsify(type = "string | null")]
    pub request: Option<String>,
    /// The outcome, as JSON.
    pub outcome: String,
}

/// A step of an observed turn: of the pipeline, or a node of a flow as `graph/node`.
#[derive(Serialize, Tsify)]
pub struct Step<'t> {
    /// Its name.
    pub step: &'t str,
    /// Number of its first notice.
    pub seq: u32,
    /// Whether it has ended.
    pub finished: bool,
    /// Whether it changed the session.
    pub changed: bool,
}

/// The session around a step.
#[derive(Serialize, Tsify)]
pub struct StepSessions<'t> {
    /// The session when the step began.
    #[tsify(type = "{ [member: string]: Json }")]
    pub before: &'t Map,
    /// The session when it ended; null while it is unfinished.
    #[tsify(type = "{ [member: string]: Json } | null")]
    pub after: Option<&'t Map>,
}

/// The explanation of a decision.
#[derive(Serialize, Tsify)]
pub struct Explanation<'t> {
    /// Number of the next notice: the position in the turn.
    seq: u32,
    /// The step that decided.
    step: &'t str,
    /// The kind of decision.
    topic: &'t str,
    /// The facts that it was about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(type = "{ [fact: string]: Json }")]
    about: Option<&'t Map>,
    /// The decision, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'t str>,
    /// The candidates, in evaluation order.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Candidate<'t>>>,
}

/// A row, or another option, that a decision considered.
#[derive(Serialize, Tsify)]
pub struct Candidate<'t> {
    /// The row's table.
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'t str>,
    /// The row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    /// Its pattern or code, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'t str>,
    /// The verdict on it.
    #[tsify(type = "'won' | 'lost' | 'matched' | 'not_matched' | 'out_of_scope' | 'not_reached' | 'failed'")]
    verdict: Verdict,
    /// The reason; for a candidate that lost, what would make it win.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'t str>,
    /// The score that it was ranked by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(type = "number")]
    score: Option<&'t Value>,
    /// The values that it was evaluated with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(type = "{ [fact: string]: Json }")]
    facts: Option<&'t Map>,
}

impl<'t> From<&'t TurnExplanation> for Explanation<'t> {
    fn from(TurnExplanation { seq, step, topic, about, verdict, rows }: &'t TurnExplanation) -> Self {
        let rows = (!rows.is_empty()).then(|| rows.iter().map(Candidate::from).collect());
        Explanation { seq: *seq, step, topic, about: non_empty(about), verdict: non_empty_text(verdict), rows }
    }
}

impl<'t> From<&'t TurnCandidate> for Candidate<'t> {
    fn from(TurnCandidate { table, id, name, verdict, reason, score, facts }: &'t TurnCandidate) -> Self {
        Candidate {
            table: non_empty_text(table),
            id: *id,
            name: non_empty_text(name),
            verdict: *verdict,
            reason: non_empty_text(reason),
            score: Some(score).filter(|it| !it.is_null()),
            facts: non_empty(facts),
        }
    }
}

fn non_empty(map: &Map) -> Option<&Map> {
    Some(map).filter(|it| !it.is_empty())
}

fn non_empty_text(text: &str) -> Option<&str> {
    Some(text).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_is_declared() {
        let verdicts =
            [Verdict::Won, Verdict::Lost, Verdict::Matched, Verdict::NotMatched, Verdict::OutOfScope, Verdict::NotReached, Verdict::Failed];
        let names: Vec<String> = verdicts.iter().map(|verdict| serde_json::to_string(verdict).unwrap().replace('"', "'")).collect();
        let declared = format!("verdict: {};", names.join(" | "));
        assert!(Candidate::DECL.contains(&declared), "{declared} is not in {}", Candidate::DECL);
    }
}
