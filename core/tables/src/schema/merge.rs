//! Merges extracted values into the context. (docs/spec/pipeline.md#2.17 steps 7 and 8)

use convengine_config::{OutputSchema, SchemaField, ValueSchema};
use convengine_text::json::has_content;
use convengine_text::json::schema::counterpart;
use convengine_text::value::SCHEMA;
use convengine_turn::Map;
use serde_json::Value;

use super::facts::{has_gap, has_kind, is_valid};

/// Merges the schema's own values from a reply (docs/spec/pipeline.md#Q-22); returns whether there were any. A value that is not as declared
/// is left out (docs/decisions/0035-schema-extraction.md).
pub fn merge(schema: &OutputSchema, context: &mut Map, reply: &Map) -> bool {
    let mut fresh = false;
    for field in &schema.fields {
        let given = reply.get(&field.name).filter(|it| has_value(it));
        let Some(value) = given.and_then(|value| take_valid(&field.schema, value)) else { continue };
        let mut merged = context.get(&field.name).cloned().unwrap_or_default();
        merge_value(&mut merged, &value);
        if has_wrong_object(&field.schema, &merged) {
            continue;
        }
        context.insert(field.name.clone(), merged);
        fresh = true;
    }
    fresh
}

/// Copies values from the parameters that the context lacks.
pub fn merge_params(schema: &OutputSchema, context: &mut Map, params: &Map) {
    for field in &schema.fields {
        let is_missing = !context.get(&field.name).is_some_and(has_content);
        let given = params.get(&field.name).filter(|value| is_missing && has_content(value));
        if let Some(value) =
            given.and_then(|value| take_valid(&field.schema, value)).filter(|value| !has_wrong_object(&field.schema, value))
        {
            context.insert(field.name.clone(), value);
        }
    }
}

/// The part of a value that is as declared. An object with declared members loses the invalid ones and may lack others, which a later
/// message can give; any other value is valid as a whole or not taken.
fn take_valid(shape: &ValueSchema, value: &Value) -> Option<Value> {
    let Some(members) = value.as_object().filter(|_| !shape.fields.is_empty()) else {
        let value = &coerce_scalars(shape, value);
        let is_empty_object = value.as_object().is_some_and(Map::is_empty) && has_kind(shape, value);
        return (is_empty_object || is_valid(shape, value)).then(|| value.clone());
    };
    let take = |(name, value): (&String, &Value)| {
        let taken = match shape.fields.iter().find(|field| field.name == *name) {
            Some(field) => Some(value).filter(|value| has_value(value)).and_then(|value| take_valid(&field.schema, value)),
            None => {
                let mut value = value.clone();
                shape.other_members.coerce(&mut value);
                shape.other_members.find_violation(&value).is_none().then_some(value)
            }
        };
        taken.map(|value| (name.clone(), value))
    };
    has_kind(shape, value).then(|| members.iter().filter_map(take).collect())
}

/// A value whose numbers and texts are of the declared kind where they are given as the other one.
fn coerce_scalars(shape: &ValueSchema, value: &Value) -> Value {
    let mut value = value.clone();
    shape.constraints.coerce(&mut value);
    let admits = |value: &Value| {
        has_kind(shape, value) && (shape.options.is_empty() || shape.options.iter().any(|option| SCHEMA.are_equal(option, value)))
    };
    match counterpart(&value).filter(|other| !admits(&value) && admits(other)) {
        Some(other) => other,
        None => value,
    }
}

/// Whether an object has all required members and yet is not as declared, or has such an object in it.
fn has_wrong_object(shape: &ValueSchema, value: &Value) -> bool {
    let Some(members) = value.as_object().filter(|members| !members.is_empty() && !shape.fields.is_empty()) else { return false };
    let is_wrong_inside = |field: &SchemaField| members.get(&field.name).is_some_and(|member| has_wrong_object(&field.schema, member));
    (!has_gap(shape, members) && !is_valid(shape, value)) || shape.fields.iter().any(is_wrong_inside)
}

/// Whether a value is merged: nulls, blank strings and empty lists are not, an empty object is. (recording `s28_schema_types`)
fn has_value(value: &Value) -> bool {
    has_content(value) || value.is_object()
}

/// Merges objects member by member and replaces any other value; null is ignored.
fn merge_value(former: &mut Value, value: &Value) {
    let Value::Object(new) = value else {
        if !value.is_null() {
            *former = value.clone();
        }
        return;
    };
    if !former.is_object() {
        *former = Value::Object(Map::new());
    }
    let Some(members) = former.as_object_mut() else { return };
    for (name, value) in new.iter().filter(|it| !it.1.is_null()) {
        merge_value(members.entry(name.clone()).or_insert(Value::Null), value);
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

    fn merged(definition: &Value, context: Value, reply: Value) -> Value {
        let config = schema(definition);
        let mut members = convengine_text::json::into_members(context);
        merge(config.schemas.find_by_id(1).unwrap(), &mut members, reply.as_object().unwrap());
        Value::Object(members)
    }

    #[test]
    fn a_value_that_breaks_any_constraint_is_left_out() {
        let definition = json!({"$defs": {"code": {"pattern": "^[A-Z]{2}$"}}, "properties": {
            "n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10}, "name": {"type": "string", "minLength": 2, "maxLength": 5},
            "order": {"type": "string", "pattern": "^C-[0-9]+$"}, "size": {"enum": ["S", "L"]}, "mail": {"format": "email"},
            "day": {"type": "string", "format": "date"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
            "land": {"$ref": "#/$defs/code"}, "either": {"oneOf": [{"const": "x"}, {"type": "integer"}]},
        }});
        let valid = json!({
            "n": 9, "name": "Anna", "order": "C-1", "size": "S", "mail": "a@example.com", "day": "2026-02-28", "tags": ["a"], "land": "NO",
            "either": 1,
        });
        assert_eq!(merged(&definition, json!({}), valid.clone()), valid);
        let invalid = json!({
            "n": 10, "name": "A", "order": "c-1", "size": "M", "mail": "a@b", "day": "2026-02-30", "tags": ["a", "c"], "land": "Norway",
            "either": "y",
        });
        assert_eq!(merged(&definition, json!({}), invalid.clone()), json!({}));
        assert_eq!(merged(&definition, valid.clone(), invalid), valid);
    }

    #[test]
    fn numbers_and_texts_take_the_declared_kind() {
        let definition = json!({"properties": {
            "amount": {"type": "number", "minimum": 1}, "nights": {"type": "integer"}, "code": {"type": "string", "pattern": "^[0-9]+$"},
            "size": {"type": "integer", "enum": [12, 24]}, "grade": {"enum": ["1", "2"]}, "ids": {"type": "array", "items": {"type": "string"}},
            "trip": {"type": "object", "properties": {"rooms": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
            "any": {}, "sure": {"type": "boolean"}, "maybe": {"type": "integer", "nullable": true},
        }});
        let given = json!({
            "amount": "1250.50", "nights": "3", "code": 4711, "size": "24", "grade": 2, "ids": [7, "8"], "trip": {"rooms": "2", "note": 5},
            "any": "9", "sure": "true", "maybe": "4",
        });
        let expected = json!({
            "amount": 1250.5, "nights": 3, "code": "4711", "size": 24, "grade": "2", "ids": ["7", "8"], "trip": {"rooms": 2, "note": "5"},
            "any": "9", "maybe": 4,
        });
        assert_eq!(merged(&definition, json!({}), given), expected);
        let wrong = json!({"amount": "0.5", "nights": "3 or 4", "code": 1.5, "size": "36", "grade": 3, "sure": 1});
        assert_eq!(merged(&definition, json!({}), wrong), json!({}));
    }

    #[test]
    fn an_object_keeps_its_valid_members() {
        let address = json!({"type": "object", "required": ["zip", "city"], "additionalProperties": false, "properties": {
            "zip": {"type": "string", "pattern": "^[0-9]{4}$"}, "city": {"type": "string"},
        }});
        let definition = json!({"properties": {"address": address, "any": {"type": "object"}}, "required": ["address"]});
        let first = merged(&definition, json!({}), json!({"address": {"zip": "12", "city": "Oslo", "x": 1}, "any": {"x": null}}));
        assert_eq!(first, json!({"address": {"city": "Oslo"}, "any": {}}));
        assert_eq!(merged(&definition, first, json!({"address": {"zip": "0150"}}))["address"], json!({"city": "Oslo", "zip": "0150"}));
        assert_eq!(merged(&definition, json!({}), json!({"address": "Oslo", "any": {}})), json!({"any": {}}));
    }

    #[test]
    fn an_object_that_breaks_a_constraint_as_a_whole_keeps_its_former_value() {
        let trip = json!({"properties": {"from": {}, "to": {}, "stops": {"properties": {"a": {}, "b": {}}, "maxProperties": 1}},
            "required": ["from"], "not": {"required": ["to", "stops"]}});
        let definition = json!({"properties": {"trip": trip}});
        let first = merged(&definition, json!({}), json!({"trip": {"from": "Bergen", "to": "Oslo"}}));
        assert_eq!(first, json!({"trip": {"from": "Bergen", "to": "Oslo"}}));
        assert_eq!(merged(&definition, first.clone(), json!({"trip": {"stops": {"a": 1}}})), first);
        assert_eq!(merged(&definition, json!({}), json!({"trip": {"from": "Bergen", "stops": {"a": 1, "b": 2}}})), json!({}));
        assert_eq!(merged(&definition, json!({}), json!({"trip": {"to": "Oslo"}})), json!({"trip": {"to": "Oslo"}}), "'from' is to come");
    }

    #[test]
    fn facets_of_an_xml_definition_are_enforced() {
        let definition = json!(
            "<xs:element name='order'><xs:simpleType><xs:restriction base='xs:string'><xs:pattern value='C-[0-9]+'/><xs:maxLength value='4'/>
             </xs:restriction></xs:simpleType></xs:element><xs:element name='day' type='xs:date'/>"
        );
        assert_eq!(
            merged(&definition, json!({}), json!({"order": "C-12", "day": "2026-01-31"})),
            json!({"order": "C-12", "day": "2026-01-31"})
        );
        assert_eq!(merged(&definition, json!({}), json!({"order": "xC-1", "day": "31.1."})), json!({}));
        assert_eq!(merged(&definition, json!({}), json!({"order": "C-123"})), json!({}));
    }

    #[test]
    fn parameters_are_held_against_the_schema_too() {
        let config = schema(&json!({"properties": {"a": {"type": "string", "maxLength": 3}, "b": {}}}));
        let (schema, mut context) = (config.schemas.find_by_id(1).unwrap(), Map::new());
        merge_params(schema, &mut context, &convengine_text::json::into_members(json!({"a": "long", "b": "x"})));
        assert_eq!(Value::Object(context), json!({"b": "x"}));
    }
}
