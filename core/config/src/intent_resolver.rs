//! Configuration of the intent resolver: the intents a model may choose, its prompts and thresholds. (docs/spec/pipeline.md#2.13)

use std::collections::BTreeSet;

use convengine_understanding::lexical::Acceptance;
use serde::Serialize;
use serde_json::{Value, json};

use super::built_in::{ComponentConfig, PromptPair};
use super::code::{UNKNOWN, is_same_code, to_upper_code};
use super::column::{CREATED_AT, ENABLED, PRIORITY, TableShape, text};
use super::issue::Issue;
use super::row::TableRow;
use super::tables::{ConfigRows, Tables};

pub(crate) static INTENT: TableShape = TableShape {
    name: "ce_intent",
    help: "What users may want. A disabled intent is never chosen.",
    columns: &[
        text("intent_code", "code of the intent"),
        text("description", "what the intent is for; shown to the intent resolver"),
        PRIORITY.with_default("100"),
        text("display_name", "for authors; no effect"),
        text("llm_hint", "hint for the intent resolver"),
        ENABLED,
        CREATED_AT,
    ],
};

/// An intent that the model may choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllowedIntent {
    /// `intent_code`.
    pub code: String,
    /// `description`.
    pub description: Option<String>,
    /// `llm_hint`.
    pub llm_hint: Option<String>,
    /// `priority`.
    pub priority: Option<i64>,
}

/// Configuration of the intent resolver.
#[derive(Debug, Clone, Default)]
pub struct IntentResolverConfig {
    /// Enabled intents by priority.
    pub intents: Vec<AllowedIntent>,
    /// The same intents as JSON, for prompts.
    pub intents_json: Value,
    codes: BTreeSet<String>,
    /// The minimum confidence of an accepted intent.
    pub min_confidence: f64,
    /// The largest score difference at which two intents collide.
    pub collision_gap: f64,
    /// Prompts that ask for the intent.
    pub prompts: PromptPair,
    /// Prompts that word the question between colliding intents.
    pub collision_prompts: PromptPair,
    /// Appended to the collision prompts.
    pub collision_hint: String,
    /// Whether the intent is kept while its values are collected.
    pub is_sticky: bool,
    /// Whether the user is asked which of two intents is meant when patterns of both match.
    pub asks_on_collision: bool,
    /// The minimum cosine similarity at which an example phrase matches.
    pub semantic_min_score: f64,
    /// When the intent of examples is accepted; between two that are close, the user is asked.
    pub example_acceptance: Acceptance,
    /// The locale of the examples.
    pub example_locale: String,
    /// Intents that reset the conversation, in upper case.
    pub reset_intents: Vec<String>,
}

impl IntentResolverConfig {
    pub(super) fn compile(tables: &Tables, rows: &ConfigRows, issues: &mut Vec<Issue>) -> IntentResolverConfig {
        let mut agent = ComponentConfig { rows, name: "AgentIntentResolver", issues };
        let min_confidence = agent.fraction("MIN_CONFIDENCE", 0.55);
        let collision_gap = agent.fraction("COLLISION_GAP_THRESHOLD", 0.1);
        let prompts = agent.prompt_pair("", SYSTEM, USER);
        let mut collision = ComponentConfig { rows, name: "AgentIntentCollisionResolver", issues };
        let collision_pair = collision.prompt_pair("", COLLISION_SYSTEM, COLLISION_USER);
        let collision_hint = collision.text("DERIVATION_HINT", COLLISION_HINT);
        let mut step = ComponentConfig { rows, name: "IntentResolutionStep", issues };
        let intents = allowed_intents(tables);
        IntentResolverConfig {
            intents_json: json!(intents),
            codes: intents.iter().map(|it| to_upper_code(&it.code)).collect(),
            intents,
            min_confidence,
            collision_gap,
            prompts,
            collision_prompts: collision_pair,
            collision_hint,
            is_sticky: step.boolean("STICKY_INTENT", true),
            asks_on_collision: step.boolean("ASK_ON_COLLISION", false),
            semantic_min_score: step.fraction("SEMANTIC_MIN_SCORE", 0.80),
            example_acceptance: Acceptance {
                threshold: step.optional_fraction("EXAMPLE_ACCEPT_ABOVE"),
                margin: step.fraction("EXAMPLE_ASK_BELOW_MARGIN", 0.03),
            },
            example_locale: step.text("EXAMPLE_LOCALE", "en"),
            reset_intents: reset_intents(rows),
        }
    }

    /// Whether the model may choose an intent.
    pub fn is_allowed(&self, code: &str) -> bool {
        self.codes.contains(&to_upper_code(code))
    }
}

/// The codes of enabled intents, in upper case.
pub(super) fn enabled_intents(tables: &Tables) -> BTreeSet<String> {
    tables.enabled_rows_of(&INTENT).into_iter().filter_map(|it| it.code("intent_code")).map(|it| to_upper_code(&it)).collect()
}

fn allowed_intents(tables: &Tables) -> Vec<AllowedIntent> {
    let mut rows = tables.enabled_rows_of(&INTENT);
    rows.sort_by_key(|row| row.integer("priority").unwrap_or(i64::MAX));
    let intent = |row: TableRow<'_>| {
        let code = row.code("intent_code").filter(|code| !is_same_code(code, UNKNOWN))?;
        let (description, llm_hint) = (row.text("description"), row.text("llm_hint"));
        Some(AllowedIntent { code, description, llm_hint, priority: row.integer("priority") })
    };
    rows.into_iter().filter_map(intent).collect()
}

/// The configured codes, or the default when the list has none.
fn reset_intents(rows: &ConfigRows) -> Vec<String> {
    let text = rows.value("ResetResolvedIntentStep", "RESET_INTENT_CODES").unwrap_or_default();
    let codes: Vec<String> = text.split(',').map(|code| code.trim().to_uppercase()).filter(|it| !it.is_empty()).collect();
    if codes.is_empty() { vec!["RESET_SESSION".to_owned()] } else { codes }
}

const SYSTEM: &str = "You route messages of a service chat. Choose the intent that the customer means, out of the list that you are given \
    and no other, and say how sure you are. Weigh the hint of each intent, what is known so far, and the question that is open, if there is \
    one. When two intents fit about equally well, or too little is said, ask one short question instead of guessing.\n\
    Reply with one JSON object with these members and nothing else: intent (a code of the list, or null), state (or null), confidence \
    (0 to 1), needsClarification (true or false), clarificationQuestion (text or null), intentScores (a list of {intent, confidence} for \
    the intents that come into question), followups (a list of short questions that would settle it).";

const USER: &str = "Intents, as JSON:\n{{allowed_intents}}\n\nKnown so far, as JSON:\n{{context}}\n\nOpen question:\n{{pending_clarification}}\n\n\
    The customer's message:\n{{user_input}}";

const COLLISION_SYSTEM: &str = "You write one short, friendly question for a customer whose message fits several topics, so that the \
    answer tells which one is meant. Name the topics in everyday words, never as codes. Write the question alone, in the customer's language.";

const COLLISION_USER: &str = "The customer's message:\n{{user_input}}\n\nTopics that fit, best first, as JSON:\n{{intent_top3}}\n\n\
    Questions that were proposed, as JSON:\n{{followups}}\n\nKnown so far, as JSON:\n{{context}}";

const COLLISION_HINT: &str = "Ask one question. Do not answer the message.";
