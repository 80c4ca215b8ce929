//! Generates values that match a JSON schema.

use serde_json::{Map, Value, json};

/// Texts that readers often handle wrongly.
const TEXTS: [&str; 8] =
    ["", " ", "hello", "my order", "ü 🙂 \u{202e}", "'; drop table ce_turn; --", "{{inputParams.x}} ${y}", "a\"b\\c\n\t\u{0}"];

/// A generator of values, deterministic for a seed.
pub struct ValueGenerator<'d> {
    schemas: &'d Value,
    known: &'d str,
    state: u64,
}

impl<'d> ValueGenerator<'d> {
    /// Creates a generator for the schemas of a document; `known` is the id of an existing conversation.
    pub fn new(schemas: &'d Value, known: &'d str, seed: u64) -> ValueGenerator<'d> {
        ValueGenerator { schemas, known, state: seed }
    }

    /// Returns a number below `end` (SplitMix64).
    pub fn next_below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// Returns true with a probability of one half.
    pub fn next_bool(&mut self) -> bool {
        self.next_below(2) == 0
    }

    /// Resolves a schema's reference.
    pub fn resolve_reference<'s>(&self, schema: &'s Value) -> &'s Value
    where
        'd: 's,
    {
        let name = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/"));
        name.map_or(schema, |it| &self.schemas[it])
    }

    /// Generates a value that matches a schema.
    pub fn generate(&mut self, schema: &Value, depth: usize) -> Value {
        let resolved = self.resolve_reference(schema).clone();
        let schema = &resolved;
        if let Some(words) = schema["enum"].as_array() {
            return words[self.next_below(words.len())].clone();
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        match types.get(self.next_below(types.len())).copied() {
            Some("object") => self.generate_object(schema, depth),
            Some("array") => Value::Array((0..self.next_below(3)).map(|_| self.generate(&schema["items"], depth + 1)).collect()),
            Some("string") if schema["format"] == "uuid" => json!(self.known),
            Some("string") if schema["minLength"] == 1 => json!(format!("x{}", TEXTS[self.next_below(TEXTS.len())])),
            Some("string") => json!(TEXTS[self.next_below(TEXTS.len())]),
            Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(0)),
            Some("number") => json!(0.5),
            Some("boolean") => json!(self.next_bool()),
            _ => Value::Null,
        }
    }

    fn generate_object(&mut self, schema: &Value, depth: usize) -> Value {
        if let (None, Some(member @ Value::Object(_))) = (schema.get("properties"), schema.get("additionalProperties")) {
            return json!({"name": self.generate(member, depth + 1)});
        }
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let required = schema["required"].as_array().is_some_and(|required| required.contains(&json!(name)));
            if required || self.next_bool() {
                members.insert(name.clone(), self.generate(member, depth + 1));
            }
        }
        if depth > 0 && self.next_bool() {
            members.insert("more".to_owned(), json!({"n": [1, -2.5e3, null, true], "t": TEXTS[self.next_below(TEXTS.len())]}));
        }
        Value::Object(members)
    }

    /// Generates a path parameter, percent-encoded.
    pub fn generate_path_parameter(&mut self, schema: &Value) -> String {
        percent_encode(self.generate(schema, 0).as_str().unwrap_or("x"))
    }

    /// Generates a query parameter, percent-encoded. Some parameters need a value that their schema does not describe.
    pub fn generate_query_parameter(&mut self, name: &str, schema: &Value) -> String {
        match (name, self.generate(schema, 0)) {
            ("from" | "to", _) => "2026-01-31T12:00:00Z".to_owned(),
            ("after", Value::String(_)) => format!("1700000000000:{}", self.known),
            // An unknown schema is rejected.
            ("schema", _) => String::new(),
            ("prefix", _) => "ce_turn".to_owned(),
            (_, Value::String(text)) => percent_encode(&text),
            (_, Value::Null) => String::new(),
            (_, other) => other.to_string(),
        }
    }
}

/// Percent-encodes everything except letters, digits and hyphens.
pub fn percent_encode(text: &str) -> String {
    let one = |byte: u8| if byte.is_ascii_alphanumeric() || byte == b'-' { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}
