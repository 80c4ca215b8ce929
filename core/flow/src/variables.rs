//! Writes variables: reserved names, scopes and declared types.

use convengine_config::flow::document::ValueType;
use convengine_text::value::EXPRESSION;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::Walker;
use crate::state::FilledSlot;

/// Why a variable was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WriteRejected(pub String);

/// A snapshot of the variables, to undo several writes.
pub(super) struct VariableSnapshot {
    vars: Map,
    locals: Option<Map>,
    filled_slots: Vec<FilledSlot>,
    changed: usize,
}

impl Walker<'_> {
    /// Takes a snapshot of the variables.
    pub(super) fn snapshot_variables(&self) -> VariableSnapshot {
        let locals = self.frame().and_then(|it| it.locals.clone());
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
        let local = self.local_declaration(path.first_name()).is_some();
        let place = match self.state.stack.last_mut().and_then(|it| it.locals.as_mut()).filter(|_| local) {
            Some(locals) => locals,
            None => &mut self.state.vars,
        };
        path.set(place, value).map_err(WriteRejected)?;
        self.forget_filled(path);
        self.mark_changed(path);
        Ok(())
    }

    /// Writes a variable of the session, although the current frame has a local one of its name.
    ///
    /// # Errors
    /// As [`Walker::write_variable`].
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
        let local = self.local_declaration(path.first_name()).is_some();
        match self.state.stack.last_mut().and_then(|it| it.locals.as_mut()).filter(|_| local) {
            Some(locals) => path.remove(locals),
            None => path.remove(&mut self.state.vars),
        }
        self.forget_filled(path);
        self.mark_changed(path);
        Ok(())
    }

    pub(super) fn mark_changed(&mut self, path: &VariablePath) {
        let name = path.to_string();
        if !self.record.debug.changed_variables.contains(&name) {
            self.record.debug.changed_variables.push(name);
        }
    }

    /// Coerces a value to the declared type of a variable, and checks its declared parts.
    fn coerce_to_declaration(&self, path: &VariablePath, value: Value) -> Result<Value, WriteRejected> {
        let of_session = || self.flow.document.variables.iter().find(|it| it.name == *path).map(|it| it.kind);
        let kind = match self.local_declaration(path.first_name()) {
            Some(local) => local.kind.filter(|_| local.name == *path),
            None => of_session(),
        };
        let mismatch = |name: &VariablePath, kind: ValueType, value: &Value| {
            WriteRejected(format!("'{name}' has to be {}, not {}", kind.name_with_article(), json_type_with_article(value)))
        };
        let value = match kind {
            Some(kind) => coerce(value, kind).map_err(|it| mismatch(path, kind, &it))?,
            None => value,
        };
        if self.local_declaration(path.first_name()).is_some() {
            return Ok(value);
        }
        for declared in self.flow.document.variables.iter().filter(|it| it.name != *path) {
            let above = path.starts_with(&declared.name);
            if above && !matches!(declared.kind, ValueType::Any | ValueType::Object | ValueType::Array) {
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

    /// Whether a variable is redacted in logs.
    pub(super) fn is_variable_redacted(&self, path: &VariablePath) -> bool {
        self.flow.document.variables.iter().any(|it| it.redact && (path.starts_with(&it.name) || it.name.starts_with(path)))
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
