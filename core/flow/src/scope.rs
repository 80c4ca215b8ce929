//! The names that templates and expressions of a session can read (docs/spec/flows.md#2.4).

use std::borrow::Cow;
use std::cell::OnceCell;

use convengine_text::date::Date;
use convengine_text::names::NameResolver;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::view::SessionView;

/// The names of a session, with extra roots of the current node.
pub(super) struct Scope<'s> {
    view: SessionView<'s, 's>,
    /// The published version; `None` for the draft.
    version: Option<u64>,
    /// Additional roots: `args`, `item`, `index`, `value`.
    extra_roots: Map,
    /// The event as it is read, built once: its attachments may be large.
    event_value: OnceCell<Value>,
}

impl<'s> Scope<'s> {
    /// Creates the names of a session.
    pub fn new(view: SessionView<'s, 's>, version: Option<u64>, extra_roots: Map) -> Scope<'s> {
        Scope { view, version, extra_roots, event_value: OnceCell::new() }
    }

    fn system_value(&self, name: &str) -> Option<Value> {
        Some(match name {
            "now" => json!(Date::from_millis(self.view.now()).to_rfc3339_millis()),
            "locale" => json!(self.view.state.locale),
            "time_zone" => json!(self.view.state.time_zone),
            "channel" => json!(self.view.state.channel),
            "session_id" => json!(self.view.state.session_id),
            "turn" => json!(self.view.state.turn),
            "assistant" => json!(self.view.flow.document.id),
            "version" => self.version.map_or_else(|| json!("draft"), |it| json!(it)),
            _ => return None,
        })
    }

    fn intent_value(&self) -> Option<Value> {
        let mut last = self.view.state.vars.get("_last_intent")?.clone();
        let name = last.get("id").and_then(Value::as_str).and_then(|it| self.view.flow.intent(it)).map(|it| it.name.clone());
        last.as_object_mut()?.insert("name".to_owned(), json!(name));
        Some(last)
    }
}

impl NameResolver for Scope<'_> {
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        let state = self.view.state;
        let rest = || path.rest();
        let read_inside = |value: Value| path.parts().get(1..).and_then(|it| get_at(&value, it)).cloned().map(Cow::Owned);
        if let Some(value) = self.extra_roots.get(path.first_name()) {
            return path.parts().get(1..).and_then(|it| get_at(value, it)).map(Cow::Borrowed);
        }
        match path.first_name() {
            "session" => match rest() {
                Some(path) => state.variable(&path).map(Cow::Borrowed),
                None => path.parts().len().eq(&1).then(|| Cow::Owned(Value::Object(state.vars.clone()))),
            },
            "event" => get_at(self.event_value.get_or_init(|| self.view.event.to_value()), path.parts().get(1..)?).map(Cow::Borrowed),
            "system" => read_member(&self.system_value(rest()?.first_name())?, path),
            "strings" => self
                .view
                .flow
                .document
                .string(&rest()?, &state.locale)
                .map(Cow::Borrowed)
                .or_else(|| state.variable(path).map(Cow::Borrowed)),
            "user" => path.parts().get(1..).and_then(|parts| get_at(state.user.as_ref()?, parts)).map(Cow::Borrowed),
            // A variable of this name is the document's own.
            "visitor" => state.variable(path).or_else(|| get_at(state.visitor.as_ref()?, path.parts().get(1..)?)).map(Cow::Borrowed),
            "intent" => read_inside(self.intent_value()?),
            _ => state.variable(path).map(Cow::Borrowed),
        }
    }

    fn name_of(&self, value: &Value) -> Value {
        self.view.name_value(None, value)
    }

    fn user_message(&self) -> &str {
        self.view.state.last_user_text(self.view.event)
    }

    fn now(&self) -> i64 {
        self.view.now()
    }

    fn locale(&self) -> &str {
        &self.view.state.locale
    }

    fn time_zone(&self) -> &str {
        &self.view.state.time_zone
    }
}

/// What a path reads within a member of a root, such as `system.channel`.
fn read_member(member: &Value, path: &VariablePath) -> Option<Cow<'static, Value>> {
    get_at(member, path.parts().get(2..)?).cloned().map(Cow::Owned)
}
