//! `entity`: collects a value; the parameters of intents are such slots too. (docs/spec/flows.md#4.4)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use convengine_understanding::entity::{DayOptions, Grain};
use convengine_values::Direction;
use serde_json::Value;

use super::super::super::shape::Described as _;
use super::super::text::{FlowCondition, LocalizedText};
use super::super::{Document, ValueType};
use super::message::Button;
use super::traits::{Failing, NodeData, NodeGroup, NodeTraits, VariableWrite, Waiting};

/// Data of `entity`; also used for parameters of intents.
#[derive(Debug, Clone, Described)]
pub struct EntityData {
    /// Variable that takes the value.
    #[member(required, meaning = Writes, example = r#""order.id""#)]
    pub variable: VariablePath,
    /// Built-in type such as `@number`, or the id of an [entity type](#entity-type).
    #[member(required, shape = NON_EMPTY, meaning = Names(Entity), example = r#""@date""#)]
    pub entity: String,
    /// How its days are read.
    #[member(flatten)]
    pub day_options: DayOptions,
    /// Takes all values of the answer as a list.
    pub multiple: bool,
    /// The question.
    #[member(required, example = r#""Which day suits you?""#)]
    pub prompt: LocalizedText,
    /// Questions after the first, second, … invalid answer; the last one repeats.
    pub reprompt: Vec<LocalizedText>,
    /// Invalid answers after which the slot is given up.
    #[member(shape = Integer(1, 10), codes("N006", "D001"), default = 3)]
    pub max_attempts: u32,
    /// Whether giving up is the failure `max_attempts`; otherwise the `default` is taken.
    #[member(default = true)]
    pub required: bool,
    /// Value of an optional slot that is given up.
    #[member(meaning = Template(Text), shown_if("required", false))]
    pub default: Value,
    /// `if_empty`: not when this request has a valid value; `always`: asks anyway.
    pub ask: Ask,
    /// Takes over what an earlier request has left, without asking.
    #[member(title = "Keep the earlier value")]
    pub keep: bool,
    /// `answers`: a free text takes no command, no phrase of an intent and no question; `anything`: it takes whatever is said.
    pub take: Take,
    /// Answer to a user who asks for the reason.
    pub help: Option<LocalizedText>,
    /// Takes a value from the message that triggered the intent, unless the slot is redacted or not interruptible.
    #[member(flatten)]
    pub prefill: Prefill,
    /// Rules for the value, in order; the first violated one decides the message.
    pub validation: Vec<Validation>,
    /// Answers to choose from.
    pub buttons: Vec<Button>,
    /// Lets a model find the value when the text is not read as one.
    #[member(title = "Ask a model")]
    pub llm_extract: bool,
    /// Lets other intents and small talk interrupt the question.
    #[member(default = true)]
    pub interruptible: bool,
    /// Asks whether the value is right before it is stored.
    pub confirm: bool,
    /// The session view, the trace and the history show the variable's name in place of the value, and of the message that held it;
    /// journals and stored sessions keep it (see [redaction](../guide/operations.md#redaction)). The default is that of the entity.
    #[member(documented_default = "")]
    pub redact: bool,
    /// Silence timeout; the default is `no_input_timeout_s`.
    pub no_input_ms: Option<u64>,
}

/// When to ask for a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Ask {
    /// When there is no value yet.
    #[default]
    IfEmpty,
    /// Always.
    Always,
}

/// Which texts a slot takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub enum Take {
    /// Texts that may be an answer.
    #[default]
    Answers,
    /// Every text, also one that is plainly not an answer.
    Anything,
}

/// Whether the message that triggered the intent may fill a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Described)]
pub struct Prefill {
    /// Takes a value from the message that triggered the intent, unless the slot is redacted or not interruptible.
    #[member(documented_default = "true")]
    prefill: Option<bool>,
    /// Older name of `prefill`; either forbids it.
    #[member(documented_default = "true")]
    prefill_from_trigger: Option<bool>,
}

/// A rule for a value.
#[derive(Debug, Clone, Default, Described)]
#[described(definition = "Validation")]
pub struct Validation {
    /// Least number, amount, date or duration.
    pub min: Option<Value>,
    /// Greatest number, amount, date or duration.
    pub max: Option<Value>,
    /// Fewest characters.
    #[member(shape = COUNT)]
    pub min_length: Option<usize>,
    /// Most characters.
    #[member(shape = POSITIVE)]
    pub max_length: Option<usize>,
    /// Regular expression that a text must match.
    #[member(meaning = Regex, example = r#""^[A-Z]{2}[0-9]{6}$""#)]
    pub pattern: Option<String>,
    /// [Condition](expressions.md) that must hold; the value is `value`.
    #[member(roots("value"), example = r#""value >= 1 && value <= 10""#)]
    pub expr: Option<FlowCondition>,
    /// Text when the rule is violated.
    pub message: Option<LocalizedText>,
}

impl EntityData {
    /// What tells the type of its values from others.
    pub fn type_key(&self) -> String {
        let several = if self.multiple { " several" } else { "" };
        let DayOptions { direction, min_grain, max_grain, .. } = self.day_options;
        let direction = if direction == Direction::Future { String::new() } else { format!(" {direction:?}") };
        let grains = if max_grain == Grain::Day { String::new() } else { format!(" {min_grain:?} {max_grain:?}") };
        format!("{}{several}{direction}{grains}", self.entity)
    }
}

impl NodeData for EntityData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits {
            failure_port: Some("failed"),
            ports: &["out", "no_input", "failed"],
            waiting: Waiting::Always,
            failing: if self.required { Failing::Always } else { Failing::Never },
            group: NodeGroup::Dialogue,
            ..NodeTraits::CALLING
        }
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        let kind = if self.multiple { Some(ValueType::Array) } else { ValueType::of_entity(&self.entity) };
        Some(vec![VariableWrite::new(&self.variable, kind)])
    }
}

impl Prefill {
    /// Whether it may fill the slot; `None` when the document does not say, which is yes.
    pub fn allowed(self) -> Option<bool> {
        let stated = [self.prefill, self.prefill_from_trigger];
        if stated.contains(&Some(false)) { Some(false) } else { stated.into_iter().flatten().next() }
    }
}

impl Validation {
    /// Reads a constraint.
    pub fn from_value(value: &Value) -> Validation {
        Validation::read(value).unwrap_or_default()
    }
}
