//! Slots: values collected by entity nodes and intents.

use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::{DayOptions, Grain};
use convengine_values::Direction;
use serde_json::Value;

use super::fields::{self, Fields};
use super::message::Button;
use super::text::{FlowCondition, LocalizedText};

/// Data of `entity`; also used for parameters of intents.
#[derive(Debug, Clone)]
pub struct EntityData {
    /// The variable that stores the value.
    pub variable: VariablePath,
    /// A system entity or an entity of the document.
    pub entity: String,
    /// How its days are read.
    pub day_options: DayOptions,
    /// Whether it takes a list of values.
    pub multiple: bool,
    /// The prompt.
    pub prompt: LocalizedText,
    /// The reprompts.
    pub reprompt: Vec<LocalizedText>,
    /// Maximum number of invalid answers.
    pub max_attempts: u32,
    /// Whether the node fails after that.
    pub required: bool,
    /// The value otherwise.
    pub default: Value,
    /// Whether to ask when there is a value already.
    pub ask: Ask,
    /// Whether it keeps what an earlier request has left.
    pub keep: bool,
    /// Whether it takes every text, also what is plainly no answer.
    pub takes_anything: bool,
    /// What answers somebody who asks why.
    pub help: Option<LocalizedText>,
    /// Whether the message that triggered the intent may fill it; `None` when the document does not say, which is yes.
    pub prefill: Option<bool>,
    /// Constraints on the value.
    pub validation: Vec<Validation>,
    /// Suggested answers as buttons.
    pub buttons: Vec<Button>,
    /// Whether a model may extract it.
    pub llm_extract: bool,
    /// Whether another intent may interrupt the question.
    pub interruptible: bool,
    /// Whether the user must confirm it.
    pub confirm: bool,
    /// Whether it is redacted in logs.
    pub redact: bool,
    /// Milliseconds until the no-input event.
    pub no_input_ms: Option<u64>,
}

/// When to ask for a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ask {
    /// When there is none yet.
    #[default]
    IfEmpty,
    /// Always.
    Always,
}

/// A constraint on a value.
#[derive(Debug, Clone, Default)]
pub struct Validation {
    /// Minimum value.
    pub min: Option<Value>,
    /// Maximum value.
    pub max: Option<Value>,
    /// Minimum characters.
    pub min_length: Option<usize>,
    /// Maximum characters.
    pub max_length: Option<usize>,
    /// A regular expression.
    pub pattern: Option<String>,
    /// A condition on `value`.
    pub expr: Option<FlowCondition>,
    /// The message for a value that violates it.
    pub message: Option<LocalizedText>,
}

impl EntityData {
    /// What tells the type of its values from others.
    pub fn type_key(&self) -> String {
        let several = if self.multiple { " several" } else { "" };
        let DayOptions { direction, min_grain, max_grain } = self.day_options;
        let direction = if direction == Direction::Future { String::new() } else { format!(" {direction:?}") };
        let grains = if max_grain == Grain::Day { String::new() } else { format!(" {min_grain:?} {max_grain:?}") };
        format!("{}{several}{direction}{grains}", self.entity)
    }

    pub(super) fn read(fields: Fields<'_>) -> EntityData {
        EntityData {
            variable: fields::parse_path(fields.text("variable").unwrap_or_default()),
            entity: fields.string("entity"),
            day_options: read_day_options(&fields),
            multiple: fields.flag("multiple", false),
            prompt: fields.localized("prompt").unwrap_or_default(),
            reprompt: fields.list("reprompt", |it| LocalizedText::from(it.0)),
            max_attempts: fields.count_u32("max_attempts").unwrap_or(3),
            required: fields.flag("required", true),
            default: fields.value("default").cloned().unwrap_or_default(),
            ask: fields.keyword("ask", &[("always", Ask::Always)]).unwrap_or_default(),
            keep: fields.flag("keep", false),
            takes_anything: fields.text("take") == Some("anything"),
            help: fields.localized("help"),
            prefill: read_prefill(&fields),
            validation: fields.list("validation", Validation::read),
            buttons: fields.list("buttons", Button::read),
            llm_extract: fields.flag("llm_extract", false),
            interruptible: fields.flag("interruptible", true),
            confirm: fields.flag("confirm", false),
            redact: fields.flag("redact", false),
            no_input_ms: fields.count("no_input_ms"),
        }
    }
}

/// Reads `prefill`; older documents call it `prefill_from_trigger`. Either forbids it.
fn read_day_options(fields: &Fields<'_>) -> DayOptions {
    let grain = |name: &str| fields.keyword(name, &[("month", Grain::Month), ("year", Grain::Year)]).unwrap_or_default();
    let min_grain = grain("min_grain");
    DayOptions {
        direction: fields.keyword("direction", &[("past", Direction::Past), ("nearest", Direction::Nearest)]).unwrap_or_default(),
        min_grain,
        max_grain: grain("max_grain").max(min_grain),
    }
}

fn read_prefill(fields: &Fields<'_>) -> Option<bool> {
    let stated = ["prefill", "prefill_from_trigger"].map(|it| fields.value(it).and_then(Value::as_bool));
    if stated.contains(&Some(false)) { Some(false) } else { stated.into_iter().flatten().next() }
}

impl Validation {
    /// Reads a constraint.
    pub fn from_value(value: &Value) -> Validation {
        Validation::read(Fields(value))
    }

    fn read(fields: Fields<'_>) -> Validation {
        let length = |name: &str| fields.count(name).map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Validation {
            min: fields.value("min").cloned(),
            max: fields.value("max").cloned(),
            min_length: length("min_length"),
            max_length: length("max_length"),
            pattern: fields.optional_string("pattern"),
            expr: fields.text("expr").map(FlowCondition::from),
            message: fields.localized("message"),
        }
    }
}
