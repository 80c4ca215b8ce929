//! Reads the arguments of tools. A message says what is wrong and what to send.

use convengine_core::turn::Map;
use convengine_host_base::uuid_text::parse_uuid;
use serde_json::Value;

use convengine_host_base::pack_file::wrap_document;

/// The arguments of a call.
#[derive(Debug, Clone, Default)]
pub struct Arguments(Map);

impl Arguments {
    /// Reads the arguments, of which only `names` are known.
    ///
    /// # Errors
    /// A message that names the first unknown argument.
    pub fn read(given: Option<Map>, names: &[&str]) -> Result<Arguments, String> {
        let given = given.unwrap_or_default();
        match given.keys().find(|name| !names.contains(&name.as_str())) {
            Some(unknown) => Err(format!("unknown argument '{unknown}'; use {}", names.join(", "))),
            None => Ok(Arguments(given)),
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|it| !it.is_null())
    }

    /// Returns an optional text.
    ///
    /// # Errors
    /// A message if it is not a string.
    pub fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} is not a string; send a string")),
        }
    }

    /// Returns a required text.
    ///
    /// # Errors
    /// A message if it is missing or not a string.
    pub fn required_text(&self, name: &str) -> Result<&str, String> {
        self.text(name)?.ok_or_else(|| format!("{name} is missing; send a string"))
    }

    /// Returns an optional id in lower case.
    ///
    /// # Errors
    /// A message if it is not a UUID.
    pub fn id(&self, name: &str) -> Result<Option<String>, String> {
        let parse = |text: &str| parse_uuid(text.trim()).ok_or_else(|| format!("{name} is not a UUID; send its 36 characters"));
        self.text(name)?.map(parse).transpose()
    }

    /// Returns a Boolean, or its default.
    ///
    /// # Errors
    /// A message if it is not a Boolean.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(format!("{name} is not a Boolean; send true or false")),
        }
    }

    /// Returns a required number from 1.
    ///
    /// # Errors
    /// A message if it is missing or not such a number.
    pub fn required_number(&self, name: &str) -> Result<u32, String> {
        let number = self.get(name).and_then(Value::as_u64).filter(|it| *it > 0).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| format!("{name} is not a positive integer; send one"))
    }

    /// Returns the text of an optional pack, which is given as an object or as text. A flow document becomes a pack that contains it.
    ///
    /// # Errors
    /// A message if it is neither.
    pub fn pack_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(wrap_document(text.clone()))),
            Some(object @ Value::Object(_)) => Ok(Some(wrap_document(object.to_string()))),
            Some(_) => Err(format!("{name} is not a pack; send its JSON object, or the object as text")),
        }
    }

    /// Returns an optional object, which is given as such or as text.
    ///
    /// # Errors
    /// A message if it is neither.
    pub fn object(&self, name: &str) -> Result<Option<Value>, String> {
        let refuse = || format!("{name} is not a JSON object; send one, or the object as text");
        match self.get(name) {
            None => Ok(None),
            Some(object @ Value::Object(_)) => Ok(Some(object.clone())),
            Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object).map(Some).ok_or_else(refuse),
            Some(_) => Err(refuse()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(given: Value) -> Result<Arguments, String> {
        Arguments::read(given.as_object().cloned(), &["a", "b"])
    }

    #[test]
    fn arguments_are_read_strictly() {
        assert!(arguments(json!({"c": 1})).is_err_and(|message| message.contains("'c'") && message.contains("a, b")));
        let given = arguments(json!({"a": "x", "b": null})).expect("arguments");
        assert_eq!((given.required_text("a"), given.text("b"), given.flag("b", true)), (Ok("x"), Ok(None), Ok(true)));
        assert!(given.flag("a", true).is_err() && given.required_number("a").is_err() && given.id("a").is_err());
        let given = arguments(json!({"a": {"name": "n"}, "b": 3})).expect("arguments");
        assert_eq!((given.pack_text("a"), given.required_number("b")), (Ok(Some("{\"name\":\"n\"}".to_owned())), Ok(3)));
        assert!(given.text("a").is_err() && given.pack_text("b").is_err() && given.object("b").is_err());
    }

    #[test]
    fn a_document_becomes_a_pack() {
        let given = arguments(json!({"a": {"doc": "conversation_flow", "name": "n"}})).expect("arguments");
        assert!(given.pack_text("a").is_ok_and(|text| text.is_some_and(|it| it.contains("\"documents\":["))));
    }
}
