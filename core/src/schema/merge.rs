//! Merges extracted values into the context. (docs/spec/pipeline.md#2.17 steps 7 and 8)

use serde_json::Value;

use crate::config::OutputSchema;
use crate::json::has_content;
use crate::turn::Map;

/// Merges the schema's own values from a reply (docs/spec/pipeline.md#Q-22); returns whether there were any.
pub fn merge(schema: &OutputSchema, context: &mut Map, reply: &Map) -> bool {
    let mut fresh = false;
    for field in &schema.fields {
        let Some(value) = reply.get(&field.name).filter(|it| has_value(it)) else { continue };
        merge_member(context, &field.name, value);
        fresh = true;
    }
    fresh
}

/// Copies values from the parameters that the context lacks.
pub fn merge_params(schema: &OutputSchema, context: &mut Map, params: &Map) {
    for field in &schema.fields {
        let is_missing = !context.get(&field.name).is_some_and(has_content);
        if let Some(value) = params.get(&field.name).filter(|it| is_missing && has_content(it)) {
            context.insert(field.name.clone(), value.clone());
        }
    }
}

/// Whether a value is merged: nulls, blank strings and empty lists are not, an empty object is. (recording `s28_schema_types`)
fn has_value(value: &Value) -> bool {
    has_content(value) || value.is_object()
}

/// Merges objects member by member and replaces any other value; null is ignored.
fn merge_member(members: &mut Map, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(new) => {
            if !members.get(name).is_some_and(Value::is_object) {
                members.insert(name.to_owned(), Value::Object(Map::new()));
            }
            let Some(inner) = members.get_mut(name).and_then(Value::as_object_mut) else { return };
            for (name, value) in new {
                merge_member(inner, name, value);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            members.insert(name.to_owned(), value.clone());
        }
    }
}
