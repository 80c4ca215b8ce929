//! Definitions in JSON Schema. `type`, `required`, `enum`, `minItems` and the members of objects are compiled here; every other constraint by
//! [`convengine_text::json::schema`].

use convengine_text::json::schema::JsonSchema;
use convengine_text::value::TEMPLATE;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::{SchemaField, ValueKind, ValueSchema};

/// Keywords that [`ValueSchema`] has members for.
const OWN_KEYWORDS: [&str; 5] = ["type", "enum", "minItems", "properties", "required"];

/// Constraints that hold for the whole set of values. Only declared ones are taken, so that there are no additional properties.
const CHECKED_AT_THE_ROOT: [&str; 4] = ["type", "properties", "required", "additionalProperties"];

/// Parses a definition into the schema, its values and their details for prompts. Adds what is wrong with constraints to `unchecked`.
///
/// # Errors
/// The reason why the definition is invalid.
pub(super) fn parse(text: &str, unchecked: &mut Vec<String>) -> Result<(Value, Vec<SchemaField>, Map), String> {
    if text.is_empty() {
        return Err("is blank".to_owned());
    }
    let definition: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let Some(root) = definition.as_object() else { return Err("is not a JSON object".to_owned()) };
    let kinds = parse_kinds(&definition);
    if !kinds.is_empty() && !kinds.contains(&ValueKind::Object) {
        return Err("'type' is not object".to_owned());
    }
    if root.get("properties").is_some_and(|it| !it.is_object()) {
        return Err("'properties' is not an object".to_owned());
    }
    let name = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if root.get("required").is_some_and(|required| !required.as_array().is_some_and(|list| list.iter().all(name))) {
        return Err("'required' is not a list of names".to_owned());
    }
    for keyword in root.keys().filter(|keyword| JsonSchema::is_constraint(keyword) && !CHECKED_AT_THE_ROOT.contains(&keyword.as_str())) {
        unchecked.push(format!("'{keyword}' is not checked at the root"));
    }
    let fields = parse_fields(&definition, root, unchecked);
    let details = fields
        .iter()
        .map(|field| (field.name.clone(), prompt_detail(root.get("properties").and_then(|properties| properties.get(&field.name)))))
        .collect();
    Ok((definition, fields, details))
}

/// The declared members, then required ones without a declaration, which could never be collected otherwise.
fn parse_fields(document: &Value, schema: &Map, unchecked: &mut Vec<String>) -> Vec<SchemaField> {
    let required: Vec<&str> = items(schema.get("required")).iter().filter_map(Value::as_str).collect();
    let declared = schema.get("properties").and_then(Value::as_object);
    let is_declared = |name: &str| declared.is_some_and(|properties| properties.contains_key(name));
    let place = |name: &str| required.iter().position(|required| *required == name);
    let mut fields = Vec::new();
    for (name, schema) in declared.into_iter().flatten() {
        let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
        let schema = parse_value_schema(document, name, schema, unchecked);
        fields.push(SchemaField { name: name.clone(), description, required_position: place(name), schema });
    }
    for name in required.iter().filter(|it| !is_declared(it)) {
        if fields.iter().all(|it| it.name != *name) {
            fields.push(SchemaField {
                name: (*name).to_owned(),
                description: None,
                required_position: place(name),
                schema: ValueSchema::default(),
            });
        }
    }
    fields
}

fn parse_value_schema(document: &Value, name: &str, schema: &Value, unchecked: &mut Vec<String>) -> ValueSchema {
    let min_items = schema.get("minItems").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let (constraints, problems) = JsonSchema::compile_constraints(document, schema, &OWN_KEYWORDS);
    let additional = schema.get("additionalProperties").filter(|it| it.is_object());
    let (other_members, _) = additional.map(|it| JsonSchema::compile_constraints(document, it, &[])).unwrap_or_default();
    unchecked.extend(problems.into_iter().map(|it| format!("'{name}': {it}")));
    ValueSchema {
        kinds: parse_kinds(schema),
        options: items(schema.get("enum")).to_vec(),
        min_items,
        fields: schema.as_object().map(|it| parse_fields(document, it, unchecked)).unwrap_or_default(),
        other_members: match schema.get("additionalProperties") {
            Some(closed @ Value::Bool(_)) => JsonSchema::compile(closed).unwrap_or_default(),
            _ => other_members,
        },
        constraints,
    }
}

/// The kinds of a type or list of types, and null if the schema is `nullable`; an unknown type leaves the value unchecked.
fn parse_kinds(schema: &Value) -> Vec<ValueKind> {
    let names = match schema.get("type") {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    let kind = |value: &Value| {
        Some(match value.as_str()? {
            "object" => ValueKind::Object,
            "array" => ValueKind::Array,
            "string" => ValueKind::String,
            "integer" => ValueKind::Integer,
            "number" => ValueKind::Number,
            "boolean" => ValueKind::Boolean,
            "null" => ValueKind::Null,
            _ => return None,
        })
    };
    let mut kinds = names.iter().map(kind).collect::<Option<Vec<ValueKind>>>().unwrap_or_default();
    if !kinds.is_empty() && schema.get("nullable") == Some(&Value::Bool(true)) {
        kinds.push(ValueKind::Null);
    }
    kinds
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn prompt_detail(schema: Option<&Value>) -> Value {
    let member = |key: &str| schema.and_then(|schema| schema.get(key));
    let options: Vec<String> =
        items(member("enum")).iter().map(|option| TEMPLATE.print(option).into_owned()).filter(|it| !it.is_empty()).collect();
    json!({"description": member("description"), "type": member("type"), "enumOptions": options})
}
