//! Numbers that are given as text, and texts that are given as numbers: models mix them up.

use serde_json::{Number, Value};

use super::{JsonSchema, Rule, validate};

/// The deepest nesting of references and alternatives.
const MAX_DEPTH: usize = 32;

/// Returns the text of a number, or the number that a text wholly is; `None` for any other value.
pub fn counterpart(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => Some(Value::String(number.to_string())),
        Value::String(text) => read_number(text.trim()).map(Value::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Reads a number that is written as in JSON. One that a double cannot hold exactly enough is none.
fn read_number(text: &str) -> Option<Number> {
    let number: Number = serde_json::from_str(text).ok()?;
    let is_integer = !text.contains(['.', 'e', 'E']);
    (!is_integer || !number.is_f64()).then_some(number)
}

/// Converts a value and what is in it.
pub(super) fn coerce(schema: &JsonSchema, value: &mut Value) {
    Coercion { schema, depth: 0 }.apply(&schema.rules, value);
}

#[derive(Clone, Copy)]
struct Coercion<'s> {
    schema: &'s JsonSchema,
    depth: usize,
}

impl Coercion<'_> {
    fn apply(self, rules: &[Rule], value: &mut Value) {
        rules.iter().for_each(|it| self.apply_rule(it, value));
    }

    fn apply_rule(self, rule: &Rule, value: &mut Value) {
        match rule {
            Rule::Types(_) | Rule::Enum(_) if !self.admits(rule, value) => {
                if let Some(other) = counterpart(value).filter(|it| self.admits(rule, it)) {
                    *value = other;
                }
            }
            Rule::Properties(named) => {
                for (name, rules) in named {
                    if let Some(member) = value.get_mut(name) {
                        self.apply(rules, member);
                    }
                }
            }
            Rule::Additional(named, rules) => {
                let members = value.as_object_mut().into_iter().flatten();
                members.filter(|it| !named.contains(it.0)).for_each(|it| self.apply(rules, it.1));
            }
            Rule::Items(rules) => value.as_array_mut().into_iter().flatten().for_each(|it| self.apply(rules, it)),
            Rule::AllOf(all) => all.iter().for_each(|it| self.apply(it, value)),
            Rule::Nullable(rules) => self.apply(rules, value),
            Rule::AnyOf(alternatives) | Rule::ExactlyOne(alternatives) => self.apply_alternatives(rule, alternatives, value),
            Rule::Reference(number) => {
                if let (Some(rules), Some(inner)) = (self.schema.referenced.get(*number), self.deeper()) {
                    inner.apply(rules, value);
                }
            }
            Rule::Never
            | Rule::Types(_)
            | Rule::Enum(_)
            | Rule::Required(_)
            | Rule::Names(_)
            | Rule::UniqueItems
            | Rule::Length(..)
            | Rule::Pattern(..)
            | Rule::Format(_)
            | Rule::Number(..)
            | Rule::MultipleOf(_)
            | Rule::Not(_) => {}
        }
    }

    /// Takes the first alternative that a value fits when it is converted, if it fits none as it is.
    fn apply_alternatives(self, rule: &Rule, alternatives: &[Vec<Rule>], value: &mut Value) {
        let Some(inner) = self.deeper().filter(|_| !self.admits(rule, value)) else { return };
        let converted = alternatives.iter().map(|rules| {
            let mut converted = value.clone();
            inner.apply(rules, &mut converted);
            converted
        });
        if let Some(fitting) = converted.into_iter().find(|it| self.admits(rule, it)) {
            *value = fitting;
        }
    }

    fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Coercion { depth: self.depth + 1, ..self })
    }

    fn admits(self, rule: &Rule, value: &Value) -> bool {
        validate::admits(self.schema, rule, value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_texts_take_the_declared_type() {
        for (schema, given, expected) in [
            (json!({"type": "number"}), json!(" 12.50 "), json!(12.5)),
            (json!({"type": "integer"}), json!("12"), json!(12)),
            (json!({"type": "integer"}), json!("-3"), json!(-3)),
            (json!({"type": "integer"}), json!("1.5"), json!("1.5")),
            (json!({"type": "integer"}), json!("99999999999999999999"), json!("99999999999999999999")),
            (json!({"type": "number"}), json!("1,250"), json!("1,250")),
            (json!({"type": "number"}), json!("12 nights"), json!("12 nights")),
            (json!({"type": "number"}), json!("007"), json!("007")),
            (json!({"type": "number"}), json!(true), json!(true)),
            (json!({"type": "string"}), json!(4711), json!("4711")),
            (json!({"type": "string"}), json!(1.5), json!("1.5")),
            (json!({"type": "string"}), json!([1]), json!([1])),
            (json!({"type": ["string", "number"]}), json!(7), json!(7)),
            (json!({"type": ["integer", "null"]}), json!("7"), json!(7)),
            (json!({"type": "integer", "nullable": true}), json!("7"), json!(7)),
            (json!({"enum": ["1", "2"]}), json!(2), json!("2")),
            (json!({"enum": [12, 24]}), json!("24"), json!(24)),
            (json!({"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 5}]}), json!("7"), json!(7)),
            (json!({"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 5}]}), json!("3"), json!("3")),
            (
                json!({"$defs": {"n": {"type": "number"}}, "properties": {"a": {"items": {"$ref": "#/$defs/n"}}, "b": {"type": "string"}},
                    "additionalProperties": {"type": "integer"}}),
                json!({"a": ["1", 2], "b": 3, "c": "4"}),
                json!({"a": [1, 2], "b": "3", "c": 4}),
            ),
            (json!({"$ref": "#"}), json!("1"), json!("1")),
        ] {
            let mut value = given.clone();
            JsonSchema::compile(&schema).unwrap().coerce(&mut value);
            assert_eq!(value, expected, "{schema} {given}");
        }
    }
}
