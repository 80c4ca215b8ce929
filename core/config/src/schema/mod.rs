//! `ce_output_schema`: the values that an intent collects, by intent and state. (docs/spec/pipeline.md#2.8)

mod json_definition;
mod xml_definition;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_text::json::schema::JsonSchema;
use convengine_turn::Map;
use serde_json::Value;

use super::code::{ANY, is_same_code, to_upper_code};
use super::column::{DESCRIPTION, ENABLED, INTENT_CODE, PRIORITY, STATE_CODE, TableShape, integer, json, text};
use super::issue::Issue;
use super::row::{TableRow, by_priority};
use super::scope::Scopes;
use super::scope_index::ScopeIndex;
use super::tables::Tables;

pub(crate) static OUTPUT_SCHEMA: TableShape = TableShape {
    name: "ce_output_schema",
    help: "Values that are collected from messages.",
    columns: &[
        integer("schema_id", "id of the row"),
        INTENT_CODE,
        STATE_CODE,
        text("schema_type", "`SCHEMA_JSON` is extracted; other types are kept and not extracted").with_default(r#""SCHEMA_JSON""#),
        json("json_schema", "a JSON Schema object, or an XML-like definition"),
        DESCRIPTION.with_help("parameter `schema_description` of prompts"),
        ENABLED,
        PRIORITY.with_help("lower first, null last"),
    ],
};

/// The `schema_type` whose values are extracted from messages.
const SCHEMA_JSON: &str = "SCHEMA_JSON";

/// The JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// Null, alongside other kinds only: a null is never a collected value.
    Null,
}

/// The constraints on a value.
#[derive(Debug, Clone, Default)]
pub struct ValueSchema {
    /// The allowed kinds; empty for any.
    pub kinds: Vec<ValueKind>,
    /// The allowed values (`enum`); empty for any.
    pub options: Vec<Value>,
    /// The minimum number of items of an array.
    pub min_items: usize,
    /// The members of an object.
    pub fields: Vec<SchemaField>,
    /// What its other members have to be.
    pub other_members: JsonSchema,
    /// All other constraints: lengths, bounds, patterns, formats, combinations.
    pub constraints: JsonSchema,
}

/// A named value of a schema.
#[derive(Debug, Clone)]
pub struct SchemaField {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its position among the required values; `None` when it is optional.
    pub required_position: Option<usize>,
    /// The constraints on its value.
    pub schema: ValueSchema,
}

/// A schema row.
#[derive(Debug, Clone)]
pub struct OutputSchema {
    /// `schema_id`.
    pub id: i64,
    /// The intent, in upper case.
    pub intent: String,
    /// The state, in upper case.
    pub state: String,
    /// `schema_type`, in upper case.
    pub schema_type: String,
    /// `description`; empty when null.
    pub description: Arc<str>,
    /// `json_schema`: a JSON object, or the text of an XML-like definition.
    pub definition: Arc<Value>,
    /// Its values in order: the declared ones, then required names without a declaration.
    pub fields: Vec<SchemaField>,
    /// Details of each value for prompts: description, type and options.
    pub prompt_details: Arc<Map>,
    /// The names of its values.
    pub names: Arc<[String]>,
}

impl OutputSchema {
    /// Whether its values are extracted from messages.
    pub fn is_for_extraction(&self) -> bool {
        self.schema_type == SCHEMA_JSON
    }
}

/// Schema rows by intent and state, and by id.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    index: ScopeIndex<Arc<OutputSchema>>,
    schemas_by_id: BTreeMap<i64, Arc<OutputSchema>>,
}

impl Schemas {
    pub(super) fn compile(tables: &Tables, scopes: &Scopes, issues: &mut Vec<Issue>) -> Schemas {
        let mut schemas = Schemas::default();
        let rows = by_priority(scopes.rows(tables, &OUTPUT_SCHEMA, issues));
        for row in rows {
            match compile(&row, issues) {
                Ok(schema) => schemas.add(schema, &row, issues),
                Err(issue) => issues.push(issue),
            }
        }
        schemas
    }

    fn add(&mut self, schema: OutputSchema, row: &TableRow<'_>, issues: &mut Vec<Issue>) {
        if schema.fields.is_empty() {
            let hint = "no value can be collected until it has properties";
            issues.push(Issue::warning(row.path("json_schema"), "defines no values", hint));
        }
        let schema = Arc::new(schema);
        self.schemas_by_id.insert(schema.id, Arc::clone(&schema));
        self.index.add(row, schema);
    }

    /// Returns the extraction schema of an intent in a state, else in any state; the lowest priority wins, then the first.
    pub fn find_for_extraction(&self, intent: &str, state: &str) -> Option<&OutputSchema> {
        self.find_first(intent, state, OutputSchema::is_for_extraction)
    }

    /// Returns the schema of any type for an intent in a state, else in any state.
    pub fn find_any_type(&self, intent: &str, state: &str) -> Option<&OutputSchema> {
        self.find_first(intent, state, |_| true)
    }

    /// Returns a schema by id.
    pub fn find_by_id(&self, id: i64) -> Option<&OutputSchema> {
        self.schemas_by_id.get(&id).map(Arc::as_ref)
    }

    /// Returns the names of the values that are collected for an intent, in any state.
    pub fn names_of_intent<'s>(&'s self, intent: &str) -> impl Iterator<Item = &'s str> {
        let is_of_intent = |schema: &&Arc<OutputSchema>| is_same_code(&schema.intent, intent) || is_same_code(&schema.intent, ANY);
        self.schemas_by_id.values().filter(is_of_intent).flat_map(|schema| schema.names.iter().map(String::as_str))
    }

    /// Whether an intent has any schema.
    pub fn has_intent(&self, intent: &str) -> bool {
        self.index.has_intent(intent)
    }

    fn find_first(&self, intent: &str, state: &str, fits: impl Fn(&OutputSchema) -> bool) -> Option<&OutputSchema> {
        let find = |state| self.index.rows_at(intent, state).iter().map(Arc::as_ref).find(|schema| fits(schema));
        find(state).or_else(|| find(ANY))
    }
}

fn compile(row: &TableRow<'_>, issues: &mut Vec<Issue>) -> Result<OutputSchema, Issue> {
    let invalid = |reason: String| row.error("json_schema", reason, "the definition is corrected");
    let text = row.text("json_schema").unwrap_or_default();
    let text = text.trim();
    let mut unchecked = Vec::new();
    let (definition, fields, details) = if text.starts_with('<') {
        let (fields, details) = xml_definition::parse(text, &mut unchecked).map_err(invalid)?;
        (Value::from(text), fields, details)
    } else {
        json_definition::parse(text, &mut unchecked).map_err(invalid)?
    };
    for reason in unchecked {
        issues.push(Issue::warning(row.path("json_schema"), reason, "the constraint is not enforced until it is corrected"));
    }
    Ok(OutputSchema {
        id: row.id(),
        intent: row.code_or_any("intent_code"),
        state: row.code_or_any("state_code"),
        schema_type: row.code("schema_type").map_or_else(|| SCHEMA_JSON.to_owned(), |it| to_upper_code(&it)),
        description: row.text("description").unwrap_or_default().into(),
        definition: Arc::new(definition),
        names: fields.iter().map(|it| it.name.clone()).collect(),
        fields,
        prompt_details: Arc::new(details),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compiled(rows: Value) -> (Schemas, Vec<Issue>) {
        let scopes = Scopes::new(["LOAN", "LOANS"].map(str::to_owned).into(), ["ASK".to_owned()].into());
        let tables: Tables = serde_json::from_value(json!({"ce_output_schema": rows})).unwrap();
        let mut issues = Vec::new();
        (Schemas::compile(&tables, &scopes, &mut issues), issues)
    }

    fn row(id: i64, state: &str, schema_type: Value, priority: Value) -> Value {
        json!({
            "schema_id": id, "intent_code": "loan", "state_code": state, "schema_type": schema_type, "priority": priority,
            "json_schema": r#"{"properties": {"a": {}}}"#,
        })
    }

    #[test]
    fn the_state_s_own_row_comes_first_then_the_lowest_priority() {
        let (schemas, issues) = compiled(json!([
            row(1, "ANY", Value::Null, json!(1)),
            row(2, "ASK", json!(" "), Value::Null),
            row(3, "ask", json!("schema_json"), json!(9)),
            row(4, "ASK", json!("SEMANTIC_INTERPRET"), json!(3)),
        ]));
        assert_eq!(issues, []);
        assert_eq!(schemas.find_for_extraction("Loan", "ask").map(|it| it.id), Some(3));
        assert_eq!(schemas.find_any_type("LOAN", "ASK").map(|it| it.id), Some(4));
        assert_eq!(schemas.find_for_extraction("LOAN", "OTHER").map(|it| it.id), Some(1));
        assert_eq!(schemas.find_by_id(2).map(|it| it.state.as_str()), Some("ASK"));
        assert!(schemas.find_for_extraction("LOANS", "ASK").is_none() && schemas.find_by_id(9).is_none());
        assert!(schemas.has_intent("loan") && !schemas.has_intent("LOANS") && !schemas.has_intent("LOA"));
    }

    #[test]
    fn an_invalid_definition_is_skipped() {
        for (text, reason) in [
            ("", "is blank"),
            ("{", "is not JSON"),
            ("[]", "is not a JSON object"),
            (r#"{"type": "string"}"#, "'type' is not object"),
            (r#"{"properties": []}"#, "'properties' is not an object"),
            (r#"{"required": "a"}"#, "'required' is not a list of names"),
            (r#"{"required": [1]}"#, "'required' is not a list of names"),
            ("<schema/>", "has no named element"),
            ("<element name='a'", "is not closed"),
        ] {
            let (schemas, issues) = compiled(json!([{"schema_id": 1, "intent_code": "LOAN", "state_code": "ANY", "json_schema": text}]));
            assert!(schemas.find_by_id(1).is_none(), "{text}");
            assert!(issues.len() == 1 && issues[0].reason.contains(reason), "{text}: {issues:?}");
        }
    }

    #[test]
    fn a_constraint_that_cannot_be_enforced_is_reported() {
        for (shape, reason) in [
            (r#"{"pattern": "("}"#, "'a': 'pattern'"),
            (r#"{"maxLength": "5"}"#, "'a': 'maxLength' is not a whole number"),
            (r#"{"if": {}}"#, "'a': 'if' is not checked here"),
            (r##"{"$ref": "#/none"}"##, "'a': '$ref' leads nowhere"),
        ] {
            let text = format!(r#"{{"properties": {{"a": {shape}}}}}"#);
            let (schemas, issues) = compiled(json!([{"schema_id": 1, "intent_code": "LOAN", "state_code": "ANY", "json_schema": text}]));
            assert!(schemas.find_by_id(1).is_some(), "{text}");
            assert!(issues.len() == 1 && issues[0].reason.contains(reason), "{text}: {issues:?}");
        }
        let root =
            r#"{"$schema": "x", "title": "t", "additionalProperties": false, "anyOf": [{"required": ["a"]}], "properties": {"a": {}}}"#;
        let issues = compiled(json!([{"schema_id": 1, "intent_code": "LOAN", "state_code": "ANY", "json_schema": root}])).1;
        assert!(issues.len() == 1 && issues[0].reason.contains("'anyOf' is not checked at the root"), "{issues:?}");
        let hints = r#"{"properties": {"a": {"x-hint": 1, "description": "d", "type": "money"}}}"#;
        assert_eq!(compiled(json!([{"schema_id": 1, "intent_code": "LOAN", "state_code": "ANY", "json_schema": hints}])).1, []);
    }
}
