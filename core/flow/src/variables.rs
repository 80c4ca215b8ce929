//! Writes variables: reserved names, scopes and declared types; notes which slots they fill (docs/spec/flows.md#4.4).

use convengine_config::flow::document::ValueType;
use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::failure::Failure;
use super::state::FilledSlot;
use super::turn::Turn;

/// Why a variable was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WriteRejected(pub String);

impl From<WriteRejected> for Failure {
    fn from(rejected: WriteRejected) -> Failure {
        Failure::new("type_mismatch", rejected.0)
    }
}

/// A snapshot of the variables, to undo several writes.
pub(super) struct VariableSnapshot {
    vars: Map,
    locals: Option<Map>,
    filled_slots: Vec<FilledSlot>,
    changed: usize,
}

impl Turn<'_> {
    /// Takes a snapshot of the variables.
    pub(super) fn snapshot_variables(&self) -> VariableSnapshot {
        let locals = self.state.frame().and_then(|it| it.locals.clone());
        let filled_slots = self.state.filled_slots.clone();
        VariableSnapshot { vars: self.state.vars.clone(), locals, filled_slots, changed: self.record.debug.changed_variables.len() }
    }

    /// Restores a snapshot.
    pub(super) fn restore_variables(&mut self, before: VariableSnapshot) {
        self.state.vars = before.vars;
        self.state.filled_slots = before.filled_slots;
        if let Some(frame) = self.state.stack.last_mut() {
            frame.locals = before.locals;
        }
        self.record.debug.changed_variables.truncate(before.changed);
    }

    /// Writes a variable: to the current frame when it is local, else to the session.
    ///
    /// # Errors
    /// Returns why not: the name is reserved, or the value has the wrong type.
    pub(super) fn write_variable(&mut self, path: &VariablePath, value: Value) -> Result<(), WriteRejected> {
        if path.first_name().starts_with('_') {
            return Err(WriteRejected(format!("'{path}' is reserved")));
        }
        let value = self.coerce_to_declaration(path, value)?;
        path.set(self.variables_with(path), value).map_err(WriteRejected)?;
        self.forget_filled(path);
        self.record.mark_changed(path);
        Ok(())
    }

    /// Writes a variable of the session, although the current frame has a local one of its name.
    ///
    /// # Errors
    /// As [`Turn::write_variable`].
    pub(super) fn write_session_variable(&mut self, path: &VariablePath, value: Value) -> Result<(), WriteRejected> {
        let locals = self.state.stack.last_mut().and_then(|it| it.locals.take());
        let written = self.write_variable(path, value);
        if let Some(frame) = self.state.stack.last_mut() {
            frame.locals = locals;
        }
        written
    }

    /// Removes a variable.
    ///
    /// # Errors
    /// Returns an error when the name is reserved.
    pub(super) fn remove_variable(&mut self, path: &VariablePath) -> Result<(), WriteRejected> {
        if path.first_name().starts_with('_') {
            return Err(WriteRejected(format!("'{path}' is reserved")));
        }
        path.remove(self.variables_with(path));
        self.forget_filled(path);
        self.record.mark_changed(path);
        Ok(())
    }

    /// Removes the value of a slot, which is asked for again while those behind it keep theirs.
    pub(super) fn empty_slot(&mut self, variable: &VariablePath) {
        let name = variable.to_string();
        let known = self.state.filled_slots.iter().position(|it| it.variable == name);
        let slot = known.and_then(|at| Some((at, self.state.filled_slots.get(at)?.clone())));
        // A reserved name is no slot.
        let _ = self.remove_variable(variable);
        if let Some((at, slot)) = slot {
            self.state.filled_slots.insert(at.min(self.state.filled_slots.len()), FilledSlot { is_emptied: true, ..slot });
        }
    }

    /// The variables among which one is: those of the current frame when it is local, else those of the session.
    fn variables_with(&mut self, path: &VariablePath) -> &mut Map {
        let is_local = self.view().is_local(path);
        let locals = self.state.stack.last_mut().and_then(|it| it.locals.as_mut());
        locals.filter(|_| is_local).unwrap_or(&mut self.state.vars)
    }

    /// Notes that the current request has filled a slot. What was filled outside of a request belongs to all.
    pub(super) fn record_filled_slot(&mut self, variable: &VariablePath, place: &str) {
        let request = self.state.current_request();
        if self.view().is_local(variable) {
            return;
        }
        let filled = FilledSlot { variable: variable.to_string(), request, place: place.to_owned(), is_final: false, is_emptied: false };
        match self.state.filled_slots.iter_mut().find(|it| it.variable == filled.variable) {
            Some(known) if known.request == request && known.place == filled.place => *known = filled,
            _ => {
                self.state.filled_slots.retain(|it| it.variable != filled.variable);
                self.state.filled_slots.push(filled);
            }
        }
    }

    /// Notes where the slot is whose value was said before it was reached.
    pub(super) fn record_slot_place(&mut self, variable: &VariablePath, place: &str) {
        let (request, name) = (self.state.current_request(), variable.to_string());
        let filled = self.state.filled_slots.iter_mut().find(|slot| slot.variable == name && slot.request == request);
        if let Some(filled) = filled.filter(|it| it.place.is_empty()) {
            place.clone_into(&mut filled.place);
        }
    }

    /// Forgets what filled a variable, because something else writes it.
    fn forget_filled(&mut self, path: &VariablePath) {
        if self.state.filled_slots.is_empty() || self.view().is_local(path) {
            return;
        }
        let name = path.to_string();
        let is_part = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|it| it.starts_with(['.', '[']));
        self.state.filled_slots.retain(|slot| slot.variable != name && !is_part(&slot.variable, &name) && !is_part(&name, &slot.variable));
    }

    /// Notes that what was filled until now has been used by something that cannot be taken back.
    pub(super) fn finalize_filled_slots(&mut self) {
        let request = self.state.current_request();
        for slot in self.state.filled_slots.iter_mut().filter(|it| it.request == request) {
            slot.is_final = true;
        }
    }

    /// Coerces a value to the declared type of a variable, and checks its declared parts.
    fn coerce_to_declaration(&self, path: &VariablePath, value: Value) -> Result<Value, WriteRejected> {
        let session_kind = || self.flow.document.variables.iter().find(|it| it.name == *path).map(|it| it.kind);
        let kind = match self.view().local_declaration(path.first_name()) {
            Some(local) => local.kind.filter(|_| local.name == *path),
            None => session_kind(),
        };
        let mismatch = |name: &VariablePath, kind: ValueType, value: &Value| {
            WriteRejected(format!("'{name}' has to be {}, not {}", kind.name_with_article(), json_type_with_article(value)))
        };
        let value = match kind {
            Some(kind) => coerce(value, kind).map_err(|it| mismatch(path, kind, &it))?,
            None => value,
        };
        if self.view().is_local(path) {
            return Ok(value);
        }
        for declared in self.flow.document.variables.iter().filter(|it| it.name != *path) {
            let is_within = path.starts_with(&declared.name);
            if is_within && !matches!(declared.kind, ValueType::Any | ValueType::Object | ValueType::Array) {
                return Err(WriteRejected(format!(
                    "'{}' has to be {}, and has no parts",
                    declared.name,
                    declared.kind.name_with_article()
                )));
            }
            let part = declared.name.parts().get(path.parts().len()..).filter(|_| declared.name.starts_with(path));
            if let Some(part) = part.and_then(|it| get_at(&value, it)) {
                coerce(part.clone(), declared.kind).map_err(|it| mismatch(&declared.name, declared.kind, &it))?;
            }
        }
        Ok(value)
    }
}

/// Coerces a value to a type; the error is the unchanged value.
pub(crate) fn coerce(value: Value, kind: ValueType) -> Result<Value, Value> {
    let fits = match kind {
        ValueType::Any => true,
        ValueType::String => value.is_string(),
        ValueType::Number => value.is_number(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Array => value.is_array(),
        ValueType::Object => value.is_object(),
    };
    // `null` is valid for every type.
    if fits || value.is_null() {
        return Ok(value);
    }
    let coerced = match (kind, &value) {
        (ValueType::String, Value::Number(_) | Value::Bool(_)) => Some(json!(EXPRESSION.print(&value))),
        (ValueType::Number, Value::String(_)) => EXPRESSION.number_of(&value).map(Value::Number),
        (ValueType::Boolean, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        _ => None,
    };
    coerced.ok_or(value)
}

fn json_type_with_article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
