//! Completeness of a schema's values. (docs/spec/pipeline.md#2.17, computation)
//!
//! One definition for all decisions: a required value that is absent or not as declared is missing, and a schema is complete when
//! nothing is missing. Everything that keeps the intent locked is therefore asked for. (talk `schema_wrong_type`)

use std::sync::Arc;

use convengine_config::{OutputSchema, SchemaField, ValueKind, ValueSchema};
use convengine_text::json::has_content;
use convengine_text::value::SCHEMA;
use convengine_turn::Map;
use serde_json::Value;

use crate::session::SchemaFacts;

/// Computes which of a schema's values a context has.
pub fn compute_facts(schema: &OutputSchema, context: &Map) -> SchemaFacts {
    let missing = missing_fields(schema, context);
    let options = |name: &String| {
        let options = schema.prompt_details.get(name)?.get("enumOptions").filter(|options| has_content(options))?;
        Some((name.clone(), options.clone()))
    };
    SchemaFacts {
        id: schema.id,
        definition: Arc::clone(&schema.definition),
        description: Arc::clone(&schema.description),
        details: Arc::clone(&schema.prompt_details),
        properties: Arc::clone(&schema.names),
        complete: missing.is_empty(),
        has_any: schema.fields.iter().any(|field| context.get(&field.name).is_some_and(has_content)),
        options: missing.iter().filter_map(options).collect(),
        missing,
    }
}

/// Whether no required value is missing.
pub fn is_complete(schema: &OutputSchema, context: &Map) -> bool {
    schema.fields.iter().all(|it| is_present(it, context))
}

fn missing_fields(schema: &OutputSchema, context: &Map) -> Vec<String> {
    let mut fields: Vec<&SchemaField> = schema.fields.iter().filter(|it| !is_present(it, context)).collect();
    fields.sort_by_key(|it| it.required_position);
    fields.into_iter().map(|field| field.name.clone()).collect()
}

fn is_present(field: &SchemaField, members: &Map) -> bool {
    field.required_position.is_none() || members.get(&field.name).is_some_and(|value| is_valid(&field.schema, value))
}

/// Whether a value is as declared: the whole schema holds.
pub(super) fn is_valid(shape: &ValueSchema, value: &Value) -> bool {
    has_content(value)
        && has_kind(shape, value)
        && (shape.options.is_empty() || shape.options.iter().any(|it| SCHEMA.are_equal(it, value)))
        && !value.as_object().is_some_and(|it| has_gap(shape, it))
        && value.as_array().is_none_or(|list| list.len() >= shape.min_items)
        && shape.constraints.find_violation(value).is_none()
}

/// Whether a required member is missing.
pub(super) fn has_gap(shape: &ValueSchema, members: &Map) -> bool {
    shape.fields.iter().any(|it| !is_present(it, members))
}

/// Whether a value is of a declared kind.
pub(super) fn has_kind(shape: &ValueSchema, value: &Value) -> bool {
    shape.kinds.is_empty() || shape.kinds.iter().any(|it| is_kind(*it, value))
}

fn is_kind(kind: ValueKind, value: &Value) -> bool {
    match kind {
        ValueKind::Object => value.is_object(),
        ValueKind::Array => value.is_array(),
        ValueKind::String => value.is_string(),
        ValueKind::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        ValueKind::Number => value.is_number(),
        ValueKind::Boolean => value.is_boolean(),
        ValueKind::Null => value.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use convengine_config::{Config, Tables};
    use serde_json::json;

    use super::*;

    fn schema(definition: &Value) -> Config {
        let tables: Tables = serde_json::from_value(json!({
            "ce_intent": [{"intent_code": "A"}],
            "ce_output_schema": [{"schema_id": 1, "intent_code": "A", "state_code": "ANY", "json_schema": definition}],
        }))
        .unwrap();
        let (config, issues) = Config::compile(&tables, &Value::Null);
        assert_eq!(issues, [], "{definition}");
        config
    }

    /// Property schemas, each with a valid value.
    fn shapes() -> Vec<(Value, Value)> {
        vec![
            (json!({}), json!("x")),
            (json!({"type": "string"}), json!("x")),
            (json!({"type": "string", "enum": ["RED", "BLUE"]}), json!("BLUE")),
            (json!({"enum": [12, 24]}), json!(24.0)),
            (json!({"type": "integer"}), json!(3)),
            (json!({"type": "number"}), json!(0)),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"type": ["string", "null"]}), json!("x")),
            (json!({"type": "array"}), json!([1])),
            (json!({"type": "array", "minItems": 2}), json!([1, 2])),
            (json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}), json!({"x": 1})),
            (
                json!({"type": "object", "properties": {"o": {"properties": {"l": {"type": "array"}}, "required": ["l"]}}, "required": ["o"]}),
                json!({"o": {"l": [0]}}),
            ),
            (json!({"type": "date"}), json!(true)),
        ]
    }

    fn values() -> Vec<Value> {
        vec![
            Value::Null,
            json!(""),
            json!(" "),
            json!("x"),
            json!("RED"),
            json!("red"),
            json!(0),
            json!(7),
            json!(1.5),
            json!(2.0),
            json!(24),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!({}),
            json!({"x": 1}),
            json!({"x": null}),
            json!({"o": {"l": []}}),
            json!({"o": {"l": [null]}}),
        ]
    }

    #[test]
    fn complete_and_missing_never_disagree_and_what_is_missing_can_be_given() {
        for (a, good_a) in &shapes() {
            for (b, good_b) in &shapes() {
                let config = schema(&json!({"properties": {"b": b, "a": a, "c": a}, "required": ["a", "b"]}));
                let schema = config.schemas.find_by_id(1).unwrap();
                for value in values() {
                    for context in [json!({"a": value}), json!({"a": value, "b": good_b, "c": null}), json!({"b": value, "a": good_a})] {
                        let mut context = context.as_object().unwrap().clone();
                        let found = compute_facts(schema, &context);
                        assert_eq!(found.complete, found.missing.is_empty(), "{a} {b} {context:?}");
                        assert_eq!(found.complete, is_complete(schema, &context), "{a} {b} {context:?}");
                        for (name, good) in [("a", good_a), ("b", good_b)] {
                            if found.missing.iter().any(|it| it == name) {
                                context.insert(name.to_owned(), good.clone());
                            }
                        }
                        assert_eq!(compute_facts(schema, &context).missing, [""; 0], "{a} {b} {context:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_value_that_is_not_as_declared_is_missing() {
        let admitted = |shape: &Value| {
            let config = schema(&json!({"properties": {"a": shape}, "required": ["a"]}));
            let schema = config.schemas.find_by_id(1).unwrap();
            let complete = |value: &Value| compute_facts(schema, json!({"a": value}).as_object().unwrap()).complete;
            values().into_iter().filter(complete).collect::<Vec<Value>>()
        };
        assert_eq!(admitted(&json!({"type": "string"})), [json!("x"), json!("RED"), json!("red")]);
        assert_eq!(admitted(&json!({"type": "string", "enum": ["RED", "BLUE"]})), [json!("RED")]);
        assert_eq!(admitted(&json!({"type": "integer"})), [json!(0), json!(7), json!(2.0), json!(24)]);
        assert_eq!(admitted(&json!({"enum": [24.0, "x"]})), [json!("x"), json!(24)]);
        assert_eq!(admitted(&json!({"type": ["boolean", "null"]})), [json!(true)]);
        assert_eq!(admitted(&json!({"type": "array", "minItems": 2})), [json!([1, 2])]);
        assert_eq!(admitted(&json!({"type": "object", "required": ["x"]})), [json!({"x": 1})]);
        let nested =
            json!({"properties": {"o": {"properties": {"l": {"type": "array"}}, "required": ["l"]}}, "required": ["o"], "type": "object"});
        assert_eq!(admitted(&nested), [json!({"o": {"l": [null]}})]);
    }

    #[test]
    fn options_are_listed_for_missing_fields_only() {
        let config = schema(&json!({
            "required": ["later", "colour", "size"],
            "properties": {"size": {"enum": ["S", "L"], "type": "string"}, "colour": {"enum": ["RED"], "description": "of the cover"}, "b": {"enum": [1]}},
        }));
        let schema = config.schemas.find_by_id(1).unwrap();
        let found = compute_facts(schema, json!({"colour": "GREEN", "size": "L"}).as_object().unwrap());
        assert_eq!((found.missing, found.has_any), (vec!["later".to_owned(), "colour".to_owned()], true));
        assert_eq!(Value::Object(found.options), json!({"colour": ["RED"]}));
        assert_eq!(found.details["colour"], json!({"description": "of the cover", "type": null, "enumOptions": ["RED"]}));
        assert!(!compute_facts(schema, json!({"other": 1, "b": []}).as_object().unwrap()).has_any);
    }
}
