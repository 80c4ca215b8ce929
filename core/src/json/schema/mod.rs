//! A JSON Schema validator for the keywords that tool arguments need.
//!
//! A full validator library exceeds the size limit of the browser engine. Unknown keywords are rejected at compile time, so that no
//! constraint is silently ignored.

mod compile;
mod format;

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
    Types(Vec<JsonType>),
    Enum(Vec<Value>),
    Properties(Vec<(String, JsonSchema)>),
    Required(Vec<String>),
    /// The names of the declared properties, and the schema of all other members.
    Additional(Vec<String>, JsonSchema),
    Items(JsonSchema),
    UniqueItems,
    Length(Measure, Bound, u64),
    Pattern(String, Regex),
    Format(String),
    Number(Bound, Number),
    MultipleOf(f64),
    AllOf(Vec<JsonSchema>),
    AnyOf(Vec<JsonSchema>),
    ExactlyOne(Vec<JsonSchema>),
    Not(JsonSchema),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// The types and their names.
const TYPES: [(&str, JsonType); 7] = [
    ("null", JsonType::Null),
    ("boolean", JsonType::Boolean),
    ("integer", JsonType::Integer),
    ("number", JsonType::Number),
    ("string", JsonType::String),
    ("array", JsonType::Array),
    ("object", JsonType::Object),
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

    /// Compiles the constraints of one value of a document, `format` included, without those that `skipped` names. Returns them with what
    /// is wrong with the others, which are left out.
    pub fn compile_constraints(document: &Value, schema: &Value, skipped: &[&str]) -> (JsonSchema, Vec<String>) {
        compile::compile_constraints(document, schema, skipped)
    }

    /// Whether a keyword constrains values.
    #[must_use]
    pub fn is_constraint(keyword: &str) -> bool {
        !compile::is_hint(keyword)
    }

    /// Validates a value; returns the first violation, or `None` when the value is valid.
    pub fn find_violation(&self, value: &Value) -> Option<String> {
        find_violation(self, value, "")
    }
}

fn find_violation(schema: &JsonSchema, value: &Value, path: &str) -> Option<String> {
    schema.0.iter().find_map(|it| it.violation(value, path))
}

fn is_valid(schema: &JsonSchema, value: &Value) -> bool {
    find_violation(schema, value, "").is_none()
}

impl Rule {
    /// Returns how a value violates the rule.
    fn violation(&self, value: &Value, path: &str) -> Option<String> {
        let violation = |text: String| Some(format!("{} {text}", value_name(path)));
        let require = |is_met: bool, text: &dyn Fn() -> String| if is_met { None } else { violation(text()) };
        match self {
            Rule::Never => violation("is not allowed".to_owned()),
            Rule::Types(types) => require(types.iter().any(|it| it.is_valid(value)), &|| {
                let names: Vec<&str> = types.iter().filter_map(|kind| TYPES.iter().find(|it| it.1 == *kind)).map(|it| it.0).collect();
                format!("has to be of the type {}", names.join(" or "))
            }),
            Rule::Enum(values) => require(values.iter().any(|it| is_equal(it, value)), &|| {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("has to be one of {}", values.join(", "))
            }),
            Rule::Properties(named) => {
                let members = value.as_object()?;
                named.iter().find_map(|(name, schema)| find_violation(schema, members.get(name)?, &format!("{path}.{name}")))
            }
            Rule::Required(names) => {
                let members = value.as_object()?;
                names.iter().find(|it| !members.contains_key(*it)).map(|it| format!("{} is missing", value_name(&format!("{path}.{it}"))))
            }
            Rule::Additional(named, schema) => {
                let others = value.as_object()?.iter().filter(|it| !named.contains(it.0));
                others.map(|(name, value)| find_violation(schema, value, &format!("{path}.{name}"))).find_map(|it| it)
            }
            Rule::Items(schema) => {
                value.as_array()?.iter().enumerate().find_map(|(at, item)| find_violation(schema, item, &format!("{path}[{at}]")))
            }
            // Compared by their text: pairwise comparison is too slow for the lists that callers may send.
            Rule::UniqueItems => {
                let mut seen = BTreeSet::new();
                require(value.as_array()?.iter().all(|it| seen.insert(it.to_string())), &|| "has an item more than once".to_owned())
            }
            Rule::Length(measure, bound, limit) => {
                let (length, what) = measure.measure(value)?;
                require(bound.is_met_by(length.cmp(limit)), &|| format!("has to have {} {limit} {what}", bound.as_words()))
            }
            Rule::Pattern(source, regex) => {
                require(regex.is_match(value.as_str()?).unwrap_or(false), &|| format!("has to match '{source}'"))
            }
            Rule::Format(format) => require(format::has_format(format, value.as_str()?), &|| format!("is not of the format '{format}'")),
            Rule::Number(bound, limit) => {
                let order = compare_numbers(value.as_number()?, limit)?;
                require(bound.is_met_by(order), &|| format!("has to be {} {limit}", bound.as_words()))
            }
            Rule::MultipleOf(step) => {
                let times = value.as_f64()? / step;
                require((times - times.round()).abs() < 1e-9, &|| format!("has to be a multiple of {step}"))
            }
            Rule::AllOf(schemas) => schemas.iter().find_map(|it| find_violation(it, value, path)),
            Rule::AnyOf(schemas) => require(schemas.iter().any(|it| is_valid(it, value)), &|| "fits none of the alternatives".to_owned()),
            Rule::ExactlyOne(schemas) => require(schemas.iter().filter(|it| is_valid(it, value)).count() == 1, &|| {
                "has to fit exactly one of the alternatives".to_owned()
            }),
            Rule::Not(schema) => require(!is_valid(schema, value), &|| "is what it must not be".to_owned()),
        }
    }
}

fn value_name(path: &str) -> String {
    if path.is_empty() { "the value".to_owned() } else { format!("'{}'", path.trim_start_matches('.')) }
}

impl JsonType {
    fn is_valid(self, value: &Value) -> bool {
        match self {
            JsonType::Null => value.is_null(),
            JsonType::Boolean => value.is_boolean(),
            // The specification defines 2.0 as an integer.
            JsonType::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|it| it.fract() == 0.0),
            JsonType::Number => value.is_number(),
            JsonType::String => value.is_string(),
            JsonType::Array => value.is_array(),
            JsonType::Object => value.is_object(),
        }
    }
}

impl Measure {
    /// Returns the length of a value and its unit; `None` when the rule does not apply to values of its type.
    fn measure(self, value: &Value) -> Option<(u64, &'static str)> {
        let (count, what) = match self {
            Measure::Characters => (value.as_str()?.chars().count(), "characters"),
            Measure::Items => (value.as_array()?.len(), "items"),
            Measure::Members => (value.as_object()?.len(), "members"),
        };
        Some((u64::try_from(count).ok()?, what))
    }
}

impl Bound {
    fn is_met_by(self, order: std::cmp::Ordering) -> bool {
        match self {
            Bound::AtLeast => order.is_ge(),
            Bound::AtMost => order.is_le(),
            Bound::Above => order.is_gt(),
            Bound::Below => order.is_lt(),
        }
    }

    fn as_words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
            Bound::Above => "above",
            Bound::Below => "below",
        }
    }
}

fn is_equal(a: &Value, b: &Value) -> bool {
    match (a.as_number(), b.as_number()) {
        (Some(a), Some(b)) => compare_numbers(a, b).is_some_and(std::cmp::Ordering::is_eq),
        _ => a == b,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violation(schema: &Value, value: &Value) -> Option<String> {
        JsonSchema::compile(schema).unwrap().find_violation(value)
    }

    #[test]
    fn the_first_violation_is_reported_with_its_path() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["id", "n"],
            "properties": {
                "id": {"type": "string", "pattern": "^C-[0-9]+$", "maxLength": 8}, "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 5},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, "rate": {"exclusiveMinimum": 0, "multipleOf": 0.25},
                "when": {"anyOf": [{"const": "now"}, {"type": "object", "required": ["at"]}]}
            }
        });
        assert_eq!(violation(&schema, &json!({"id": "C-1", "n": null, "tags": ["a"], "rate": 0.5, "when": {"at": 1}})), None);
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
            assert_eq!(violation(&schema, &value).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn combinations_are_checked() {
        let exactly = json!({"oneOf": [{"minimum": 1}, {"maximum": 3}]});
        assert_eq!((violation(&exactly, &json!(5)), violation(&exactly, &json!(2)).is_some()), (None, true));
        assert!(violation(&json!({"not": {"type": "null"}}), &json!(null)).is_some());
        assert!(violation(&json!({"allOf": [{"minLength": 2}, {"maxLength": 3}]}), &json!("four")).is_some());
        assert_eq!(violation(&json!(true), &json!(1)), None);
        assert_eq!(violation(&json!({"enum": [2]}), &json!(2.0)), None);
        let referred = json!({"$defs": {"id": {"minimum": 1}}, "properties": {"a": {"$ref": "#/$defs/id"}, "b": {"$ref": "#/$defs/id"}}});
        assert_eq!(violation(&referred, &json!({"a": 1, "b": 0})).as_deref(), Some("'b' has to be at least 1"));
        let unique = json!({"uniqueItems": true});
        assert_eq!((violation(&unique, &json!([1, "1", [1]])), violation(&unique, &json!([1, 2, 1])).is_some()), (None, true));
    }

    #[test]
    fn unsupported_schemas_are_rejected() {
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
