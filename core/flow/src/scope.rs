//! The names that templates and expressions of a session can read (docs/spec/flows.md#2.4).

use std::borrow::Cow;
use std::cell::OnceCell;

use convengine_text::date::Date;
use convengine_text::json::into_members;
use convengine_text::names::NameResolver;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::Walker;
use crate::state::FlowEvent;

/// The names of a session, with extra roots of the current node.
pub(super) struct Scope<'w, 'c> {
    walker: &'w Walker<'c>,
    /// Additional roots: `args`, `item`, `index`, `value`.
    extra_roots: Map,
    /// The event as it is read, built once: its attachments may be large.
    event: OnceCell<Value>,
}

impl<'c> Walker<'c> {
    /// Returns the names without extra roots.
    pub(super) fn scope(&self) -> Scope<'_, 'c> {
        self.scope_with(Map::new())
    }

    /// Returns the names with extra roots.
    pub(super) fn scope_with(&self, extra: Map) -> Scope<'_, 'c> {
        Scope { walker: self, extra_roots: extra, event: OnceCell::new() }
    }

    /// The last text of the user.
    pub(super) fn last_user_text(&self) -> &str {
        match &self.event {
            FlowEvent::Message { text, .. } => text,
            FlowEvent::Start { .. }
            | FlowEvent::Button { .. }
            | FlowEvent::Timer { .. }
            | FlowEvent::Approval { .. }
            | FlowEvent::HandoffStatus { .. }
            | FlowEvent::HandoffMessage { .. }
            | FlowEvent::End { .. } => self.state.history.iter().rev().find(|it| it.role == "user").map_or("", |it| &it.text),
        }
    }

    pub(super) fn event_value(&self) -> Value {
        let variant = serde_json::to_value(&self.event).map(into_members).unwrap_or_default();
        let with_type =
            |(name, members): (String, Value)| [("type".to_owned(), Value::from(name))].into_iter().chain(into_members(members));
        let mut event: Map = variant.into_iter().flat_map(with_type).collect();
        if let FlowEvent::Message { .. } = &self.event {
            event.entry("attachments").or_insert_with(|| json!([]));
        }
        if let FlowEvent::Button { button_id, value, label, .. } = &self.event {
            event.insert("button".to_owned(), json!({"id": button_id, "value": value, "label": label}));
            event.insert("text".to_owned(), json!(label));
        }
        Value::Object(event)
    }

    fn system_value(&self, name: &str) -> Option<Value> {
        Some(match name {
            "now" => json!(Date::from_millis(self.effects.now()).to_rfc3339_millis()),
            "locale" => json!(self.state.locale),
            "time_zone" => json!(self.state.time_zone),
            "channel" => json!(self.state.channel),
            "session_id" => json!(self.state.session_id),
            "turn" => json!(self.state.turn),
            "assistant" => json!(self.flow.document.id),
            "version" => self.version.map_or_else(|| json!("draft"), |it| json!(it)),
            _ => return None,
        })
    }

    fn intent_value(&self) -> Option<Value> {
        let mut last = self.state.vars.get("_last_intent")?.clone();
        let name = last.get("id").and_then(Value::as_str).and_then(|it| self.flow.intent(it)).map(|it| it.name.clone());
        last.as_object_mut()?.insert("name".to_owned(), json!(name));
        Some(last)
    }
}

impl NameResolver for Scope<'_, '_> {
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        let walker = self.walker;
        let rest = || path.rest();
        let read_inside = |value: Value| path.parts().get(1..).and_then(|it| get_at(&value, it)).cloned().map(Cow::Owned);
        if let Some(value) = self.extra_roots.get(path.first_name()) {
            return path.parts().get(1..).and_then(|it| get_at(value, it)).map(Cow::Borrowed);
        }
        match path.first_name() {
            "session" => match rest() {
                Some(path) => walker.variable(&path).map(Cow::Borrowed),
                None => path.parts().len().eq(&1).then(|| Cow::Owned(Value::Object(walker.state.vars.clone()))),
            },
            "event" => get_at(self.event.get_or_init(|| walker.event_value()), path.parts().get(1..)?).map(Cow::Borrowed),
            "system" => read_member(&walker.system_value(rest()?.first_name())?, path),
            "strings" => walker
                .flow
                .document
                .string(&rest()?, &walker.state.locale)
                .map(Cow::Borrowed)
                .or_else(|| walker.variable(path).map(Cow::Borrowed)),
            "user" => path.parts().get(1..).and_then(|it| get_at(walker.state.user.as_ref()?, it)).map(Cow::Borrowed),
            // A variable of this name is the document's own.
            "visitor" => {
                walker.variable(path).or_else(|| get_at(walker.state.visitor.as_ref()?, path.parts().get(1..)?)).map(Cow::Borrowed)
            }
            "intent" => read_inside(walker.intent_value()?),
            _ => walker.variable(path).map(Cow::Borrowed),
        }
    }

    fn name_of(&self, value: &Value) -> Value {
        self.walker.name_value(None, value)
    }

    fn user_message(&self) -> &str {
        self.walker.last_user_text()
    }

    fn now(&self) -> i64 {
        self.walker.effects.now()
    }

    fn locale(&self) -> &str {
        &self.walker.state.locale
    }

    fn time_zone(&self) -> &str {
        &self.walker.state.time_zone
    }
}

/// What a path reads within a member of a root, such as `system.channel`.
fn read_member(member: &Value, path: &VariablePath) -> Option<Cow<'static, Value>> {
    get_at(member, path.parts().get(2..)?).cloned().map(Cow::Owned)
}

impl Walker<'_> {
    /// Returns a variable: of the current frame when it is local, else of the session.
    pub(super) fn variable(&self, path: &VariablePath) -> Option<&Value> {
        let locals = self.frame().and_then(|it| it.locals.as_ref()).filter(|it| it.contains_key(path.first_name()));
        path.find(locals.unwrap_or(&self.state.vars))
    }
}
