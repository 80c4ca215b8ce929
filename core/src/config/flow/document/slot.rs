//! Slots: the values that entity nodes and intents collect.

use serde_json::Value;

use super::message::Button;
use super::read::{self, Of};
use super::text::{Condition, LocalizedText};
use crate::text::path::Path;

/// Data of `entity`; a parameter of an intent is one as well.
#[derive(Debug, Clone)]
pub struct EntityData {
    /// Where the value goes.
    pub variable: Path,
    /// A system type or an entity of the document.
    pub entity: String,
    /// What is asked.
    pub prompt: LocalizedText,
    /// What is asked again.
    pub reprompt: Vec<LocalizedText>,
    /// How many invalid answers end it.
    pub max_attempts: u32,
    /// Whether it fails then.
    pub required: bool,
    /// The value that it has otherwise.
    pub default: Value,
    /// Whether it is asked when there is a value.
    pub ask: Ask,
    /// Whether the message that began the intent may hold it.
    pub prefill_from_trigger: bool,
    /// What the value has to keep.
    pub validation: Vec<Validation>,
    /// Answers to press.
    pub buttons: Vec<Button>,
    /// Whether a model may look for it.
    pub llm_extract: bool,
    /// Whether another intent may come between.
    pub interruptible: bool,
    /// Whether the user has to confirm it.
    pub confirm: bool,
    /// Whether it stays out of logs.
    pub redact: bool,
    /// Milliseconds until nobody has answered.
    pub no_input_ms: Option<u64>,
}

/// When a value is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ask {
    /// When there is none.
    #[default]
    IfEmpty,
    /// Every time.
    Always,
}

/// A rule that a value has to keep.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// The least value.
    pub min: Option<Value>,
    /// The greatest value.
    pub max: Option<Value>,
    /// The fewest characters.
    pub min_length: Option<usize>,
    /// The most characters.
    pub max_length: Option<usize>,
    /// A pattern.
    pub pattern: Option<String>,
    /// A condition on `value`.
    pub expr: Option<Condition>,
    /// What is said of a value that breaks it.
    pub message: Option<LocalizedText>,
}

impl EntityData {
    pub(super) fn read(of: Of<'_>) -> EntityData {
        EntityData {
            variable: read::path(of.text("variable").unwrap_or_default()),
            entity: of.string("entity"),
            prompt: of.localized("prompt").unwrap_or_default(),
            reprompt: of.list("reprompt", |it| LocalizedText::from(it.0)),
            max_attempts: of.small("max_attempts").unwrap_or(3),
            required: of.flag("required", true),
            default: of.value("default").cloned().unwrap_or_default(),
            ask: of.word("ask", &[("always", Ask::Always)]).unwrap_or_default(),
            prefill_from_trigger: of.flag("prefill_from_trigger", true),
            validation: of.list("validation", Validation::read),
            buttons: of.list("buttons", Button::read),
            llm_extract: of.flag("llm_extract", false),
            interruptible: of.flag("interruptible", true),
            confirm: of.flag("confirm", false),
            redact: of.flag("redact", false),
            no_input_ms: of.count("no_input_ms"),
        }
    }
}

impl Validation {
    /// Reads a rule.
    pub fn of(value: &Value) -> Validation {
        Validation::read(Of(value))
    }

    fn read(of: Of<'_>) -> Validation {
        let length = |name: &str| of.count(name).map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Validation {
            min: of.value("min").cloned(),
            max: of.value("max").cloned(),
            min_length: length("min_length"),
            max_length: length("max_length"),
            pattern: of.maybe("pattern"),
            expr: of.text("expr").map(Condition::from),
            message: of.localized("message"),
        }
    }
}
