//! A JSON Schema validator for the keywords that tool arguments need.
//!
//! A full validator library exceeds the size limit of the browser engine. Unknown keywords are rejected at compile time, so that no
//! constraint is silently ignored.

mod compile;

use std::collections::BTreeSet;

use serde_json::{Number, Value};

use crate::text::regex::Regex;

/// A compiled schema.
#[derive(Debug, Clone, Default)]
pub struct JsonSchema(Vec<Rule>);

#[derive(Debug, Clone)]
enum Rule {
    /// `false`
    Never,
    Types(Vec<Type>),
    OneOf(Vec<Value>),
    Properties(Vec<(String, JsonSchema)>),
    Required(Vec<String>),
    /// The names of the declared properties, and the schema of all other members.
    Additional(Vec<String>, JsonSchema),
    Items(JsonSchema),
    Distinct,
    Length(Measure, Bound, u64),
    Pattern(String, Regex),
    Number(Bound, Number),
    Multiple(f64),
    All(Vec<JsonSchema>),
    Some(Vec<JsonSchema>),
    Exactly(Vec<JsonSchema>),
    Not(JsonSchema),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// The types and their names.
const TYPES: [(&str, Type); 7] = [
    ("null", Type::Null),
    ("boolean", Type::Boolean),
    ("integer", Type::Integer),
    ("number", Type::Number),
    ("string", Type::String),
    ("array", Type::Array),
    ("object", Type::Object),
];

/// What a length rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Characters,
    Items,
    Members,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl JsonSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The keyword that is not supported or has an invalid value.
    pub fn compile(schema: &Value) -> Result<JsonSchema, String> {
        compile::compile(schema)
    }

    /// Validates a value; returns the first violation, or `None` when the value is valid.
    pub fn check(&self, value: &Value) -> Option<String> {
        check(self, value, "")
    }
}

fn check(schema: &JsonSchema, value: &Value, path: &str) -> Option<String> {
    schema.0.iter().find_map(|it| it.breach(value, path))
}

fn fits(schema: &JsonSchema, value: &Value) -> bool {
    check(schema, value, "").is_none()
}

impl Rule {
    /// Returns how a value violates the rule.
    fn breach(&self, value: &Value, path: &str) -> Option<String> {
        let violation = |text: String| Some(format!("{} {text}", name(path)));
        let require = |is_met: bool, text: &dyn Fn() -> String| if is_met { None } else { violation(text()) };
        match self {
            Rule::Never => violation("is not allowed".to_owned()),
            Rule::Types(types) => require(types.iter().any(|it| it.fits(value)), &|| {
                let names: Vec<&str> = types.iter().filter_map(|kind| TYPES.iter().find(|it| it.1 == *kind)).map(|it| it.0).collect();
                format!("has to be of the type {}", names.join(" or "))
            }),
            Rule::OneOf(values) => require(values.iter().any(|it| same(it, value)), &|| {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("has to be one of {}", values.join(", "))
            }),
            Rule::Properties(named) => {
                let members = value.as_object()?;
                named.iter().find_map(|(name, schema)| check(schema, members.get(name)?, &format!("{path}.{name}")))
            }
            Rule::Required(names) => {
                let members = value.as_object()?;
                names.iter().find(|it| !members.contains_key(*it)).map(|it| format!("{} is missing", name(&format!("{path}.{it}"))))
            }
            Rule::Additional(named, schema) => {
                let others = value.as_object()?.iter().filter(|it| !named.contains(it.0));
                others.map(|(name, value)| check(schema, value, &format!("{path}.{name}"))).find_map(|it| it)
            }
            Rule::Items(schema) => {
                value.as_array()?.iter().enumerate().find_map(|(at, item)| check(schema, item, &format!("{path}[{at}]")))
            }
            // Compared by their text: pairwise comparison is too slow for the lists that callers may send.
            Rule::Distinct => {
                let mut seen = BTreeSet::new();
                require(value.as_array()?.iter().all(|it| seen.insert(it.to_string())), &|| "has an item more than once".to_owned())
            }
            Rule::Length(measure, bound, limit) => {
                let (length, what) = measure.of(value)?;
                require(bound.holds(length.cmp(limit)), &|| format!("has to have {} {limit} {what}", bound.words()))
            }
            Rule::Pattern(source, regex) => require(regex.find(value.as_str()?).unwrap_or(false), &|| format!("has to match '{source}'")),
            Rule::Number(bound, limit) => {
                let order = compare(value.as_number()?, limit)?;
                require(bound.holds(order), &|| format!("has to be {} {limit}", bound.words()))
            }
            Rule::Multiple(step) => {
                let times = value.as_f64()? / step;
                require((times - times.round()).abs() < 1e-9, &|| format!("has to be a multiple of {step}"))
            }
            Rule::All(schemas) => schemas.iter().find_map(|it| check(it, value, path)),
            Rule::Some(schemas) => require(schemas.iter().any(|it| fits(it, value)), &|| "fits none of the alternatives".to_owned()),
            Rule::Exactly(schemas) => require(schemas.iter().filter(|it| fits(it, value)).count() == 1, &|| {
                "has to fit exactly one of the alternatives".to_owned()
            }),
            Rule::Not(schema) => require(!fits(schema, value), &|| "is what it must not be".to_owned()),
        }
    }
}

fn name(path: &str) -> String {
    if path.is_empty() { "the value".to_owned() } else { format!("'{}'", path.trim_start_matches('.')) }
}

impl Type {
    fn fits(self, value: &Value) -> bool {
        match self {
            Type::Null => value.is_null(),
            Type::Boolean => value.is_boolean(),
            // The specification defines 2.0 as an integer.
            Type::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|it| it.fract() == 0.0),
            Type::Number => value.is_number(),
            Type::String => value.is_string(),
            Type::Array => value.is_array(),
            Type::Object => value.is_object(),
        }
    }
}

impl Measure {
    /// Returns the length of a value and its unit; `None` when the rule does not apply to values of its type.
    fn of(self, value: &Value) -> Option<(u64, &'static str)> {
        let (count, what) = match self {
            Measure::Characters => (value.as_str()?.chars().count(), "characters"),
            Measure::Items => (value.as_array()?.len(), "items"),
            Measure::Members => (value.as_object()?.len(), "members"),
        };
        Some((u64::try_from(count).ok()?, what))
    }
}

impl Bound {
    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Bound::AtLeast => order.is_ge(),
            Bound::AtMost => order.is_le(),
            Bound::Above => order.is_gt(),
            Bound::Below => order.is_lt(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
            Bound::Above => "above",
            Bound::Below => "below",
        }
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => compare(a, b).is_some_and(std::cmp::Ordering::is_eq),
        _ => a == b,
    }
}

fn compare(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn breach(schema: &Value, value: &Value) -> Option<String> {
        JsonSchema::compile(schema).unwrap().check(value)
    }

    #[test]
    fn the_first_breach_is_named_with_its_place() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["id", "n"],
            "properties": {
                "id": {"type": "string", "pattern": "^C-[0-9]+$", "maxLength": 8}, "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 5},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, "rate": {"exclusiveMinimum": 0, "multipleOf": 0.25},
                "when": {"anyOf": [{"const": "now"}, {"type": "object", "required": ["at"]}]}
            }
        });
        assert_eq!(breach(&schema, &json!({"id": "C-1", "n": null, "tags": ["a"], "rate": 0.5, "when": {"at": 1}})), None);
        for (value, expected) in [
            (json!([]), "the value has to be of the type object"),
            (json!({"id": "C-1"}), "'n' is missing"),
            (json!({"id": "c-1", "n": 1}), "'id' has to match '^C-[0-9]+$'"),
            (json!({"id": "C-12345678", "n": 1}), "'id' has to have at most 8 characters"),
            (json!({"id": "C-1", "n": 2.5}), "'n' has to be of the type integer or null"),
            (json!({"id": "C-1", "n": 6}), "'n' has to be at most 5"),
            (json!({"id": "C-1", "n": 1, "x": 1}), "'x' is not allowed"),
            (json!({"id": "C-1", "n": 1, "tags": ["a", "z"]}), "'tags[1]' has to be one of \"a\", \"b\""),
            (json!({"id": "C-1", "n": 1, "tags": []}), "'tags' has to have at least 1 items"),
            (json!({"id": "C-1", "n": 1, "rate": 0}), "'rate' has to be above 0"),
            (json!({"id": "C-1", "n": 1, "rate": 0.3}), "'rate' has to be a multiple of 0.25"),
            (json!({"id": "C-1", "n": 1, "when": "then"}), "'when' fits none of the alternatives"),
        ] {
            assert_eq!(breach(&schema, &value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn combinations_hold() {
        let exactly = json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]});
        assert_eq!((breach(&exactly, &json!(5)), breach(&exactly, &json!(2)).is_some()), (None, true));
        assert!(breach(&json!({"not": {"type": "null"}}), &json!(null)).is_some());
        assert!(breach(&json!({"allOf": [{"minLength": 2}, {"maxLength": 3}]}), &json!("four")).is_some());
        assert_eq!(breach(&json!(true), &json!(1)), None);
        assert_eq!(breach(&json!({"enum": [2]}), &json!(2.0)), None);
        let referred = json!({"$defs": {"id": {"minimum": 1}}, "properties": {"a": {"$ref": "#/$defs/id"}, "b": {"$ref": "#/$defs/id"}}});
        assert_eq!(breach(&referred, &json!({"a": 1, "b": 0})).as_deref(), Some("'b' has to be at least 1"));
        let unique = json!({"uniqueItems": true});
        assert_eq!((breach(&unique, &json!([1, "1", [1]])), breach(&unique, &json!([1, 2, 1])).is_some()), (None, true));
    }

    #[test]
    fn what_is_not_checked_is_refused() {
        for (schema, expected) in [
            (json!([]), "no schema"),
            (json!({"$dynamicRef": "#x"}), "'$dynamicRef' is not checked here"),
            (json!({"$ref": "#/x"}), "'$ref' leads nowhere"),
            (json!({"$ref": "other.json"}), "'$ref' leads out of the schema"),
            (json!({"items": {"$ref": "#"}}), "nests more than 32 deep"),
            (json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}), "nests more than"),
            (json!({"allOf": vec![json!({}); 1_000]}), "more than 1000 schemas"),
            (json!({"properties": {"a": {"type": "text"}}}), "the member 'a': the type 'text' is not known"),
            (json!({"required": "a"}), "'required' is no list of texts"),
            (json!({"pattern": "("}), "'pattern'"),
            (json!({"minLength": -1}), "'minLength' is no whole number"),
        ] {
            let error = JsonSchema::compile(&schema).unwrap_err();
            assert!(error.contains(expected), "{schema}: {error}");
        }
    }
}
