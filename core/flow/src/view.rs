//! What can be read of a session during a turn: its document, its state and its event.
//!
//! What reads messages (phrases, values of slots, corrections, commands) sees nothing else, so that it changes nothing.

use convengine_config::flow::document::{EntityData, FlowSettings, IntentDef, ListEntry, LocalizedText, Node, Param};
use convengine_config::flow::{Flow, GraphRef};
use convengine_text::phrase::Phrase;
use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{EffectContext, Millis};
use convengine_understanding::entity::{ExtractionContext, ParseCache};
use serde_json::Value;

use super::state::{FlowEvent, SessionState};

/// What can be read of a session during a turn.
#[derive(Clone, Copy)]
pub(super) struct SessionView<'t, 'c> {
    pub flow: &'c Flow,
    pub state: &'t SessionState,
    pub event: &'t FlowEvent,
    /// What the grammar of values has read in this turn.
    parses: &'t ParseCache,
    clock: &'t EffectContext,
}

impl<'t, 'c> SessionView<'t, 'c> {
    /// Creates the view of a turn.
    pub fn new(flow: &'c Flow, state: &'t SessionState, event: &'t FlowEvent, parses: &'t ParseCache, clock: &'t EffectContext) -> Self {
        SessionView { flow, state, event, parses, clock }
    }

    /// The time of the turn.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }

    /// How values are read from texts of this session.
    pub fn extraction_context(&self) -> ExtractionContext<'t> {
        ExtractionContext { locale: &self.state.locale, now: self.now(), time_zone: &self.state.time_zone, parses: Some(self.parses) }
    }

    /// The settings of the document.
    pub fn settings(&self) -> &'c FlowSettings {
        &self.flow.document.settings
    }

    /// The graph of the current frame.
    pub fn graph(&self) -> Option<GraphRef<'c>> {
        self.flow.graph(&self.state.frame()?.graph)
    }

    /// The current node.
    pub fn current_node(&self) -> Option<&'c Node> {
        self.graph()?.node(&self.state.frame()?.node)
    }

    /// The declaration of a local variable of the current frame.
    pub fn local_declaration(&self, name: &str) -> Option<&'c Param> {
        self.state.frame()?.locals.as_ref()?;
        let definition = self.graph()?.definition;
        definition.params.iter().chain(&definition.returns).find(|param| param.name.first_name() == name)
    }

    /// Whether a variable is local to the current frame.
    pub fn is_local(&self, variable: &VariablePath) -> bool {
        self.local_declaration(variable.first_name()).is_some()
    }

    /// The innermost intent that is being served.
    pub fn active_intent(&self) -> Option<&'c IntentDef> {
        let id = self.state.stack.iter().rev().find_map(|it| it.intent_id.as_ref())?;
        self.flow.intent(id)
    }

    /// The message as the phrases of intents are compared with it.
    pub fn input_phrase(&self) -> Phrase {
        Phrase::new(&self.event.input_text(), &self.flow.document.default_locale)
    }

    /// Whether a variable is redacted in logs.
    pub fn is_variable_redacted(&self, path: &VariablePath) -> bool {
        self.flow
            .document
            .variables
            .iter()
            .any(|variable| variable.redact && (path.starts_with(&variable.name) || variable.name.starts_with(path)))
    }

    /// Whether values of this entity in this variable are redacted.
    pub fn is_value_redacted(&self, variable: &VariablePath, entity: &str) -> bool {
        self.is_variable_redacted(variable)
            || self.flow.document.entities.iter().any(|definition| definition.id == entity && definition.redact)
    }

    /// Whether the values of a slot are redacted.
    pub fn is_slot_redacted(&self, data: &EntityData) -> bool {
        data.redact || self.is_value_redacted(&data.variable, &data.entity)
    }

    /// Whether the message that triggered the intent may fill the slot: it may not give a value that is redacted, or one that only an answer
    /// to the question may give.
    pub fn is_prefilled(&self, data: &EntityData) -> bool {
        data.prefill.allowed() != Some(false) && data.interruptible && !self.is_slot_redacted(data)
    }

    /// Returns a value as users know it: values of lists by their names in the session's locale. Without an entity, all lists count.
    pub fn name_value(&self, entity: Option<&str>, value: &Value) -> Value {
        match value {
            Value::String(text) => self.find_value_name(entity, text).map_or_else(|| value.clone(), Value::from),
            Value::Array(items) => items.iter().map(|it| self.name_value(entity, it)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.clone(),
        }
    }

    fn find_value_name(&self, entity: Option<&str>, value: &str) -> Option<String> {
        let lists = self.flow.document.entities.iter().filter(|list| entity.is_none_or(|id| list.id == id));
        let name = |entry: &ListEntry| self.find_plain_text(&entry.label).filter(|_| entry.value == value);
        lists.flat_map(|it| &it.entries).find_map(name)
    }

    /// The name of an intent for users.
    pub fn name_intent(&self, intent: &IntentDef) -> String {
        let name = Some(&intent.name).filter(|name| !name.trim().is_empty()).unwrap_or(&intent.id);
        self.find_plain_text(&intent.label).unwrap_or_else(|| name.clone())
    }

    /// The first variant of a text without placeholders; `None` when it is blank.
    fn find_plain_text(&self, text: &LocalizedText) -> Option<String> {
        let variants = text.variants(&self.state.channel, &self.state.locale, &self.flow.document.default_locale);
        variants.first().map(|it| it.source.clone()).filter(|source| !source.trim().is_empty())
    }
}

/// Formats a value for the user.
pub(super) fn format_value(value: &Value) -> String {
    let text = |name: &str| value.get(name).map(|it| EXPRESSION.print(it));
    match (value, text("amount").zip(text("currency"))) {
        (Value::Object(_), Some((amount, currency))) => format!("{amount} {currency}"),
        (Value::Array(items), _) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        _ => EXPRESSION.print(value).into_owned(),
    }
}
