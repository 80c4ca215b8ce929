//! The engine in the browser: a WebAssembly class over the core, driven by JavaScript in a Worker; and lint, as a module of its own.
//!
//! What is hashed or stored crosses the boundary as JSON text: JavaScript objects would lose the difference between `1` and `1.0`, and turns
//! would no longer be byte-identical to those of the server. What is only looked at crosses as objects.

#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "lint")]
mod lint;
#[cfg(feature = "engine")]
mod steps;
mod types;

use serde::Serialize;
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

#[cfg(feature = "engine")]
pub use engine::{Engine, conversation_id};
#[cfg(feature = "lint")]
pub use lint::{classifier_reports, document_schema, find_issues, lint, match_pattern, match_texts};
pub use types::Issue;

/// Converts what is only looked at to a JavaScript object. Integers that JavaScript would not tell apart are rounded, as `JSON.parse` does.
fn to_object<T: Serialize>(shown: &T) -> Result<JsValue, JsValue> {
    let mut value = to_value(shown)?;
    round_integers(&mut value);
    value.serialize(&Serializer::json_compatible()).map_err(|error| js_error("INTERNAL", &error.to_string()))
}

fn round_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_i64().is_none_or(|integer| integer.unsigned_abs() >= 1 << 53) => {
            *value = number.as_f64().map_or(Value::Null, Value::from);
        }
        Value::Array(items) => items.iter_mut().for_each(round_integers),
        Value::Object(members) => members.values_mut().for_each(round_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn serialize<T: Serialize>(value: &T) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| js_error("INTERNAL", &error.to_string()))
}

fn to_value<T: Serialize>(value: &T) -> Result<Value, JsValue> {
    serde_json::to_value(value).map_err(|error| js_error("INTERNAL", &error.to_string()))
}

#[cfg(feature = "engine")]
fn parse<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, JsValue> {
    convengine_core::json::decode_text(text).map_err(|error| js_error("BAD_INPUT", &format!("invalid {name}: {error}")))
}

/// Creates a JavaScript `Error` with a code.
fn js_error(code: &str, message: &str) -> JsValue {
    let error = JsError::new(message);
    error.set_code(code);
    error.into()
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = Error)]
    type JsError;

    #[wasm_bindgen(constructor, js_class = "Error")]
    fn new(message: &str) -> JsError;

    #[wasm_bindgen(method, setter)]
    fn set_code(this: &JsError, code: &str);
}
