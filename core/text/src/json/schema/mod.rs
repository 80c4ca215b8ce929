//! A JSON Schema validator for the keywords that tool arguments need.
//!
//! Keywords of JSON Schema that constrain values and are not checked here are rejected at compile time, so that no constraint is silently
//! ignored, as libraries do. All other unknown keywords are annotations, as the specification says.

mod coerce;
mod compile;
mod format;
mod validate;

use std::sync::Arc;

use serde_json::{Number, Value};

pub use coerce::counterpart;

use crate::regex::Regex;

/// A compiled schema.
///
/// ```
/// use convengine_text::json::schema::JsonSchema;
/// use serde_json::json;
///
/// let schema = JsonSchema::compile(&json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))?;
/// let mut value = json!({"n": "7"});
/// assert!(schema.find_violation(&value).is_some());
/// schema.coerce(&mut value);
/// assert_eq!((&value, schema.find_violation(&value)), (&json!({"n": 7}), None));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct JsonSchema {
    rules: Vec<Rule>,
    /// The schemas that [`Rule::Reference`] numbers.
    referenced: Arc<[Vec<Rule>]>,
}

#[derive(Debug, Clone)]
enum Rule {
    /// `false`
    Never,
    Types(Vec<JsonType>),
    Enum(Vec<Value>),
    Properties(Vec<(String, Vec<Rule>)>),
    Required(Vec<String>),
    /// The names of the declared properties, and the schema of all other members.
    Additional(Vec<String>, Vec<Rule>),
    /// What the names of members have to be.
    Names(Vec<Rule>),
    Items(Vec<Rule>),
    UniqueItems,
    Length(Measure, Bound, u64),
    Pattern(String, Regex),
    Format(String),
    Number(Bound, Value),
    MultipleOf(Number),
    AllOf(Vec<Vec<Rule>>),
    AnyOf(Vec<Vec<Rule>>),
    ExactlyOne(Vec<Vec<Rule>>),
    Not(Vec<Rule>),
    /// Null, or what all these rules admit.
    Nullable(Vec<Rule>),
    /// The rules of a referenced schema.
    Reference(usize),
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

    /// Turns texts that are wholly a number into numbers, and numbers into texts, where the schema admits the one and not the other.
    pub fn coerce(&self, value: &mut Value) {
        coerce::coerce(self, value);
    }

    /// Validates a value; returns the first violation, or `None` when the value is valid.
    pub fn find_violation(&self, value: &Value) -> Option<String> {
        validate::find_violation(self, value)
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
    fn numbers_and_lists_are_compared_by_value() {
        let unique = json!({"uniqueItems": true});
        for list in [json!([1, 1.0]), json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}])] {
            assert!(violation(&unique, &list).is_some(), "{list}");
        }
        for list in [json!([1, true]), json!([0, false]), json!([9_007_199_254_740_993_i64, 9_007_199_254_740_992_i64])] {
            assert_eq!(violation(&unique, &list), None, "{list}");
        }
        assert_eq!(violation(&json!({"enum": [{"a": [1]}]}), &json!({"a": [1.0]})), None);
        for (step, value, is_multiple) in [
            (json!(1), json!(1e-10), false),
            (json!(0.1), json!(0.3), true),
            (json!(0.01), json!(19.99), true),
            (json!(1e-8), json!(12_391_239_123_i64), true),
            (json!(2), json!(-4), true),
            (json!(0.123_456_789), json!(1e308), false),
            (json!(1e300), json!(3e300), true),
        ] {
            assert_eq!(violation(&json!({"multipleOf": step}), &value).is_none(), is_multiple, "{value} of {step}");
        }
    }

    #[test]
    fn patterns_stand_for_themselves() {
        assert!(JsonSchema::compile(&json!({"pattern": "a)|(b"})).is_err());
        let commented = json!({"pattern": "(?x) ^a  # an a"});
        assert_eq!((violation(&commented, &json!("ab")), violation(&commented, &json!("ba")).is_some()), (None, true));
        assert!(violation(&json!({"pattern": "^a$"}), &json!("A")).is_some());
    }

    #[test]
    fn references_may_be_recursive() {
        let tree = json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"$ref": "#/$defs/a~1name%20"}, "children": {"items": {"$ref": "#"}}},
            "$defs": {"a/name ": {"type": "string"}}
        });
        let named = |name: Value| json!({"name": "a", "children": [{"name": "b", "children": [{"name": name}]}]});
        assert_eq!(violation(&tree, &named(json!("c"))), None);
        assert_eq!(violation(&tree, &named(json!(1))).as_deref(), Some("'children[0].children[0].name' has to be of the type string"));
        for endless in [
            json!({"$ref": "#"}),
            json!({"not": {"$ref": "#"}}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        ] {
            assert_eq!(
                violation(&endless, &json!(1)).as_deref(),
                Some("the value cannot be checked: '$ref' nests too deeply"),
                "{endless}"
            );
        }
    }

    #[test]
    fn annotations_constrain_nothing() {
        for (keyword, value) in [
            ("example", json!(1)),
            ("xml", json!({"name": "a"})),
            ("discriminator", json!({"propertyName": "kind"})),
            ("externalDocs", json!({})),
            ("x-order", json!(2)),
            ("contentEncoding", json!("base64")),
            ("markdownDescription", json!("*a*")),
            ("nullable", json!(false)),
            ("$anchor", json!("a")),
        ] {
            let schema = json!({"type": "object", keyword: value, "properties": {"a": {"type": "string", keyword: value}}});
            assert_eq!(violation(&schema, &json!({"a": "x"})), None, "{keyword}");
            assert!(violation(&schema, &json!({"a": 1})).is_some(), "{keyword}");
        }
    }

    #[test]
    fn a_nullable_value_may_be_null() {
        let schema = json!({"properties": {"a": {"type": "string", "enum": ["x"], "nullable": true}, "b": {"type": "string"}}});
        assert_eq!(violation(&schema, &json!({"a": null})), None);
        assert_eq!(violation(&schema, &json!({"a": "x"})), None);
        assert_eq!(violation(&schema, &json!({"a": "y"})).as_deref(), Some("'a' has to be one of \"x\""));
        assert!(violation(&schema, &json!({"b": null})).is_some());
    }

    #[test]
    fn names_of_members_and_bounds_of_earlier_drafts_are_checked() {
        let schema = json!({"propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"minimum": 0, "exclusiveMinimum": true}});
        assert_eq!(violation(&schema, &json!({"abc": 1})), None);
        assert_eq!(violation(&schema, &json!({"A": 1})).as_deref(), Some("the name of 'A' has to match '^[a-z]+$'"));
        assert_eq!(violation(&schema, &json!({"a": 0})).as_deref(), Some("'a' has to be above 0"));
        assert_eq!(violation(&json!({"maximum": 1, "exclusiveMaximum": false}), &json!(1)), None);
    }

    #[test]
    fn unsupported_schemas_are_rejected() {
        for (schema, expected) in [
            (json!([]), "is not a schema"),
            (json!({"$dynamicRef": "#x"}), "'$dynamicRef' is not checked here"),
            (json!({"$ref": "#/x"}), "'$ref' leads nowhere"),
            (json!({"$ref": "other.json"}), "'$ref' leads out of the schema"),
            (json!({"allOf": vec![json!({}); 1_000]}), "more than 1000 schemas"),
            (json!({"properties": {"a": {"type": "text"}}}), "the member 'a': the type 'text' is not known"),
            (json!({"required": "a"}), "'required' is not a list of strings"),
            (json!({"pattern": "("}), "'pattern'"),
            (json!({"minLength": -1}), "'minLength' is not a whole number"),
        ] {
            let error = JsonSchema::compile(&schema).unwrap_err();
            assert!(error.contains(expected), "{schema}: {error}");
        }
    }
}
