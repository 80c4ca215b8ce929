//! Values that fit a schema.

use serde_json::{Map, Value, json};

/// Texts that are hard on those who read them.
const TEXTS: [&str; 8] =
    ["", " ", "hello", "my order", "ü 🙂 \u{202e}", "'; drop table ce_turn; --", "{{inputParams.x}} ${y}", "a\"b\\c\n\t\u{0}"];

/// Values from a seed.
pub struct Values<'d> {
    schemas: &'d Value,
    known: &'d str,
    state: u64,
}

impl<'d> Values<'d> {
    /// Values for the schemas of a document; `known` is a conversation that there is.
    pub fn new(schemas: &'d Value, known: &'d str, seed: u64) -> Values<'d> {
        Values { schemas, known, state: seed }
    }

    /// One number below another. (SplitMix64)
    pub fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// Heads or tails.
    pub fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    /// A schema with its reference followed.
    pub fn followed<'s>(&self, schema: &'s Value) -> &'s Value
    where
        'd: 's,
    {
        let name = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/"));
        name.map_or(schema, |it| &self.schemas[it])
    }

    /// A value that fits.
    pub fn of(&mut self, schema: &Value, depth: usize) -> Value {
        let followed = self.followed(schema).clone();
        let schema = &followed;
        if let Some(words) = schema["enum"].as_array() {
            return words[self.below(words.len())].clone();
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        match types.get(self.below(types.len())).copied() {
            Some("object") => self.object(schema, depth),
            Some("array") => Value::Array((0..self.below(3)).map(|_| self.of(&schema["items"], depth + 1)).collect()),
            Some("string") if schema["format"] == "uuid" => json!(self.known),
            Some("string") if schema["minLength"] == 1 => json!(format!("x{}", TEXTS[self.below(TEXTS.len())])),
            Some("string") => json!(TEXTS[self.below(TEXTS.len())]),
            Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(0)),
            Some("number") => json!(0.5),
            Some("boolean") => json!(self.chance()),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        if let (None, Some(member @ Value::Object(_))) = (schema.get("properties"), schema.get("additionalProperties")) {
            return json!({"name": self.of(member, depth + 1)});
        }
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let required = schema["required"].as_array().is_some_and(|it| it.contains(&json!(name)));
            if required || self.chance() {
                members.insert(name.clone(), self.of(member, depth + 1));
            }
        }
        if depth > 0 && self.chance() {
            members.insert("more".to_owned(), json!({"n": [1, -2.5e3, null, true], "t": TEXTS[self.below(TEXTS.len())]}));
        }
        Value::Object(members)
    }

    /// A value as it stands in a path.
    pub fn plain(&mut self, schema: &Value) -> String {
        escaped(self.of(schema, 0).as_str().unwrap_or("x"))
    }

    /// A value as it stands behind the question mark. The names of some parameters say more than their types.
    pub fn of_parameter(&mut self, name: &str, schema: &Value) -> String {
        match (name, self.of(schema, 0)) {
            ("from" | "to", _) => "2026-01-31T12:00:00Z".to_owned(),
            ("after", _) => format!("1700000000000:{}", self.known),
            // A schema that is not there is a refusal of its own.
            ("schema", _) => String::new(),
            ("prefix", _) => "ce_turn".to_owned(),
            (_, Value::String(text)) => escaped(&text),
            (_, Value::Null) => String::new(),
            (_, other) => other.to_string(),
        }
    }
}

/// Everything but letters and digits as percent signs.
pub fn escaped(text: &str) -> String {
    let one = |it: u8| if it.is_ascii_alphanumeric() || it == b'-' { char::from(it).to_string() } else { format!("%{it:02X}") };
    text.bytes().map(one).collect()
}
