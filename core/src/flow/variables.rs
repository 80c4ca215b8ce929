//! Writes variables: reserved names, scopes and declared types.

use serde_json::{Value, json};

use super::Walk;
use crate::config::flow::document::ValueType;
use crate::text::decimal;
use crate::text::path::{Path, follow};
use crate::turn::Map;

/// Why a variable was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotWritten(pub String);

/// A snapshot of the variables, to undo several writes.
pub(super) struct Before {
    vars: Map,
    locals: Option<Map>,
    changed: usize,
}

impl Walk<'_> {
    /// Takes a snapshot of the variables.
    pub(super) fn before(&self) -> Before {
        let locals = self.frame().and_then(|it| it.locals.clone());
        Before { vars: self.state.vars.clone(), locals, changed: self.debug.changed.len() }
    }

    /// Restores a snapshot.
    pub(super) fn put_back(&mut self, before: Before) {
        self.state.vars = before.vars;
        if let Some(frame) = self.state.stack.last_mut() {
            frame.locals = before.locals;
        }
        self.debug.changed.truncate(before.changed);
    }

    /// Writes a variable: to the current frame when it is local, else to the session.
    ///
    /// # Errors
    /// Returns why not: the name is reserved, or the value has the wrong type.
    pub(super) fn write(&mut self, path: &Path, value: Value) -> Result<(), NotWritten> {
        if path.first().starts_with('_') {
            return Err(NotWritten(format!("'{path}' is reserved")));
        }
        let value = self.declared(path, value)?;
        let local = self.local(path.first()).is_some();
        let place = match self.state.stack.last_mut().and_then(|it| it.locals.as_mut()).filter(|_| local) {
            Some(locals) => locals,
            None => &mut self.state.vars,
        };
        path.put(place, value).map_err(NotWritten)?;
        self.changed(path);
        Ok(())
    }

    /// Removes a variable.
    ///
    /// # Errors
    /// Returns an error when the name is reserved.
    pub(super) fn unset(&mut self, path: &Path) -> Result<(), NotWritten> {
        if path.first().starts_with('_') {
            return Err(NotWritten(format!("'{path}' is reserved")));
        }
        let local = self.local(path.first()).is_some();
        match self.state.stack.last_mut().and_then(|it| it.locals.as_mut()).filter(|_| local) {
            Some(locals) => path.remove(locals),
            None => path.remove(&mut self.state.vars),
        }
        self.changed(path);
        Ok(())
    }

    pub(super) fn changed(&mut self, path: &Path) {
        let name = path.to_string();
        if !self.debug.changed.contains(&name) {
            self.debug.changed.push(name);
        }
    }

    /// Coerces a value to the declared type of a variable, and checks its declared parts.
    fn declared(&self, path: &Path, value: Value) -> Result<Value, NotWritten> {
        let of_session = || self.flow.document.variables.iter().find(|it| it.name == *path).map(|it| it.kind);
        let kind = match self.local(path.first()) {
            Some(local) => local.kind.filter(|_| local.name == *path),
            None => of_session(),
        };
        let mismatch =
            |name: &Path, kind: ValueType, value: &Value| NotWritten(format!("'{name}' has to be {}, not {}", kind.name(), kind_of(value)));
        let value = match kind {
            Some(kind) => coerced(value, kind).map_err(|it| mismatch(path, kind, &it))?,
            None => value,
        };
        if self.local(path.first()).is_some() {
            return Ok(value);
        }
        for declared in self.flow.document.variables.iter().filter(|it| it.name != *path) {
            let above = path.within(&declared.name);
            if above && !matches!(declared.kind, ValueType::Any | ValueType::Object | ValueType::Array) {
                return Err(NotWritten(format!("'{}' has to be {}, and has no parts", declared.name, declared.kind.name())));
            }
            let part = declared.name.parts().get(path.parts().len()..).filter(|_| declared.name.within(path));
            if let Some(part) = part.and_then(|it| follow(&value, it)) {
                coerced(part.clone(), declared.kind).map_err(|it| mismatch(&declared.name, declared.kind, &it))?;
            }
        }
        Ok(value)
    }

    /// Whether a variable is redacted in logs.
    pub(super) fn is_redacted(&self, path: &Path) -> bool {
        self.flow.document.variables.iter().any(|it| it.redact && (path.within(&it.name) || it.name.within(path)))
    }
}

/// Coerces a value to a type; the error is the unchanged value.
pub(super) fn coerced(value: Value, kind: ValueType) -> Result<Value, Value> {
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
        (ValueType::String, Value::Number(_) | Value::Bool(_)) => Some(json!(crate::text::plain_text(&value))),
        (ValueType::Number, Value::String(text)) => decimal::looks_like(text).map(Value::Number),
        (ValueType::Boolean, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        _ => None,
    };
    coerced.ok_or(value)
}

impl ValueType {
    /// The name with its article, for messages.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::String => "a string",
            ValueType::Number => "a number",
            ValueType::Boolean => "a boolean",
            ValueType::Array => "an array",
            ValueType::Object => "an object",
            ValueType::Any => "anything",
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
