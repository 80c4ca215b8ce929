//! Compiles schemas into rules.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Bound, JsonSchema, JsonType, Measure, Rule, TYPES};
use crate::regex::Regex;
use crate::url::percent_decode;
use crate::value::decimal::number_from_f64;

/// Keywords that are checked.
const SUPPORTED: [&str; 27] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "propertyNames",
    "required",
    "type",
    "uniqueItems",
];

/// The deepest nesting of schemas.
const MAX_DEPTH: usize = 32;

/// The most sub-schemas of a schema.
const MAX_SCHEMAS: usize = 1_000;

/// Compiles a schema.
///
/// # Errors
/// The keyword that is not supported or has an invalid value.
pub(super) fn compile(schema: &Value) -> Result<JsonSchema, String> {
    let compiler = Compiler::new(schema, false);
    let rules = compiler.compile_schema(schema, 0)?;
    Ok(compiler.finish(rules))
}

/// Keywords of JSON Schema that constrain values and are not supported; others that are unknown are for people and models.
const UNSUPPORTED: [&str; 14] = [
    "$dynamicRef",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "patternProperties",
    "prefixItems",
    "then",
    "unevaluatedProperties",
];

/// Compiles the constraints of a schema within a document.
pub(super) fn compile_constraints(document: &Value, schema: &Value, skipped: &[&str]) -> (JsonSchema, Vec<String>) {
    let compiler = Compiler::new(document, true);
    let mut problems = Vec::new();
    let Some(members) = schema.as_object() else { return (JsonSchema::default(), problems) };
    let rules = compiler.compile_members(members, skipped, 0, &mut problems);
    (compiler.finish(rules), problems)
}

/// Whether a keyword constrains nothing: it is for people and models.
pub(super) fn is_hint(keyword: &str) -> bool {
    !SUPPORTED.contains(&keyword) && !UNSUPPORTED.contains(&keyword)
}

struct Compiler<'s> {
    root: &'s Value,
    remaining: Cell<usize>,
    /// Whether `format` is a constraint rather than an annotation.
    checks_formats: bool,
    /// The referenced schemas with their pointers; one that is being compiled has no rules yet.
    referenced: RefCell<Vec<(String, Vec<Rule>)>>,
}

impl<'s> Compiler<'s> {
    fn new(root: &'s Value, checks_formats: bool) -> Compiler<'s> {
        Compiler { root, remaining: Cell::new(MAX_SCHEMAS), checks_formats, referenced: RefCell::default() }
    }

    fn finish(self, rules: Vec<Rule>) -> JsonSchema {
        let referenced: Vec<Vec<Rule>> = self.referenced.into_inner().into_iter().map(|it| it.1).collect();
        JsonSchema { rules, referenced: Arc::from(referenced) }
    }

    /// Compiles a referenced schema, once; returns its number.
    fn compile_reference(&self, target: &str, depth: usize) -> Result<usize, String> {
        let pointer = target.strip_prefix('#').ok_or("leads out of the schema")?;
        let pointer = String::from_utf8(percent_decode(pointer)).map_err(|_| "is not valid UTF-8")?;
        if let Some(known) = self.referenced.borrow().iter().position(|it| it.0 == pointer) {
            return Ok(known);
        }
        let schema = self.root.pointer(&pointer).ok_or("leads nowhere")?;
        let number = self.referenced.borrow().len();
        self.referenced.borrow_mut().push((pointer, Vec::new()));
        let rules = self.compile_schema(schema, depth + 1)?;
        if let Some(entry) = self.referenced.borrow_mut().get_mut(number) {
            entry.1 = rules;
        }
        Ok(number)
    }

    fn compile_schema(&self, schema: &Value, depth: usize) -> Result<Vec<Rule>, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nests more than {MAX_DEPTH} deep"));
        }
        self.remaining.set(self.remaining.get().checked_sub(1).ok_or_else(|| format!("is made of more than {MAX_SCHEMAS} schemas"))?);
        let members = match schema {
            Value::Bool(true) => return Ok(Vec::new()),
            Value::Bool(false) => return Ok(vec![Rule::Never]),
            Value::Object(members) => members,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err("is not a schema: expected an object".to_owned());
            }
        };
        let mut problems = Vec::new();
        let compiled = self.compile_members(members, &[], depth, &mut problems);
        problems.into_iter().next().map_or(Ok(compiled), Err)
    }

    /// Compiles all keywords but `skipped`. What is wrong with one is added to `problems`.
    fn compile_members(&self, members: &Map<String, Value>, skipped: &[&str], depth: usize, problems: &mut Vec<String>) -> Vec<Rule> {
        let mut rules = Vec::new();
        for (keyword, value) in members.iter().filter(|member| !skipped.contains(&member.0.as_str())) {
            match self.compile_rule(members, keyword, value, depth) {
                Ok(rule) => rules.extend(rule),
                Err(reason) if reason.contains('\'') => problems.push(reason),
                Err(reason) => problems.push(format!("'{keyword}' {reason}")),
            }
        }
        // OpenAPI's way to allow null.
        if members.get("nullable") == Some(&Value::Bool(true)) && !rules.is_empty() { vec![Rule::Nullable(rules)] } else { rules }
    }

    fn compile_rule(&self, members: &Map<String, Value>, keyword: &str, value: &Value, depth: usize) -> Result<Option<Rule>, String> {
        let inner = |it: &Value| self.compile_schema(it, depth + 1);
        let list = |value: &Value| value.as_array().ok_or("is not a list".to_owned())?.iter().map(inner).collect::<Result<Vec<_>, _>>();
        // The specification defines 2.0 as an integer.
        let whole = value
            .as_number()
            .and_then(|number| if number.is_f64() { number_from_f64(number.as_f64()?)?.as_u64() } else { number.as_u64() });
        let length = |measure, bound| whole.map(|it| Rule::Length(measure, bound, it)).ok_or("is not a whole number from 0".to_owned());
        let number = |bound| if value.is_number() { Ok(Rule::Number(bound, value.clone())) } else { Err("is not a number".to_owned()) };
        let rule = match keyword {
            "type" => Rule::Types(parse_types(value)?),
            "enum" => Rule::Enum(value.as_array().ok_or("is not a list")?.clone()),
            "const" => Rule::Enum(vec![value.clone()]),
            "properties" => {
                let named = value.as_object().ok_or("is not an object")?;
                let at = |name: &str, it: String| format!("the member '{name}': {it}");
                let compiled = named.iter().map(|(name, member)| Ok((name.clone(), inner(member).map_err(|error| at(name, error))?)));
                Rule::Properties(compiled.collect::<Result<_, String>>()?)
            }
            "required" => Rule::Required(parse_strings(value)?),
            "additionalProperties" => {
                let named = members
                    .get("properties")
                    .and_then(Value::as_object)
                    .map(|members| members.keys().cloned().collect())
                    .unwrap_or_default();
                Rule::Additional(named, inner(value)?)
            }
            "items" => Rule::Items(inner(value)?),
            "propertyNames" => Rule::Names(inner(value)?),
            "uniqueItems" if value.as_bool().ok_or("is neither true nor false")? => Rule::UniqueItems,
            "uniqueItems" => return Ok(None),
            "$ref" => Rule::Reference(self.compile_reference(value.as_str().ok_or("is not a string")?, depth)?),
            "minLength" => length(Measure::Characters, Bound::AtLeast)?,
            "maxLength" => length(Measure::Characters, Bound::AtMost)?,
            "minItems" => length(Measure::Items, Bound::AtLeast)?,
            "maxItems" => length(Measure::Items, Bound::AtMost)?,
            "minProperties" => length(Measure::Members, Bound::AtLeast)?,
            "maxProperties" => length(Measure::Members, Bound::AtMost)?,
            // Unlike the patterns of rules, those of schemas are case-sensitive.
            "pattern" => {
                let source = value.as_str().ok_or("is not a string")?;
                Rule::Pattern(source.to_owned(), Regex::new_case_sensitive(source)?)
            }
            "minimum" => number(Bound::AtLeast)?,
            "maximum" => number(Bound::AtMost)?,
            // In OpenAPI and earlier drafts it says how the bound beside it is meant.
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(exclusive_bound(members, keyword, value)),
            "exclusiveMinimum" => number(Bound::Above)?,
            "exclusiveMaximum" => number(Bound::Below)?,
            "multipleOf" => {
                Rule::MultipleOf(value.as_number().filter(|number| number.as_f64() > Some(0.0)).cloned().ok_or("is not a number above 0")?)
            }
            "format" if self.checks_formats => Rule::Format(value.as_str().ok_or("is not a string")?.to_owned()),
            "allOf" => Rule::AllOf(list(value)?),
            "anyOf" => Rule::AnyOf(list(value)?),
            "oneOf" => Rule::ExactlyOne(list(value)?),
            "not" => Rule::Not(inner(value)?),
            _ if is_hint(keyword) || keyword == "format" => return Ok(None),
            _ => return Err("is not checked here: remove it, or write the requirement with other keywords".to_owned()),
        };
        Ok(Some(rule))
    }
}

fn exclusive_bound(members: &Map<String, Value>, keyword: &str, value: &Value) -> Option<Rule> {
    let (bounded, bound) = if keyword == "exclusiveMinimum" { ("minimum", Bound::Above) } else { ("maximum", Bound::Below) };
    let limit = members.get(bounded).filter(|limit| limit.is_number() && *value == Value::Bool(true))?;
    Some(Rule::Number(bound, limit.clone()))
}

fn parse_types(value: &Value) -> Result<Vec<JsonType>, String> {
    let names = if let Some(name) = value.as_str() { vec![name.to_owned()] } else { parse_strings(value)? };
    let named = |name: &String| TYPES.iter().find(|it| it.0 == name).map(|it| it.1);
    names.iter().map(|name| named(name).ok_or_else(|| format!("the type '{name}' is not known"))).collect()
}

fn parse_strings(value: &Value) -> Result<Vec<String>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    value.as_array().and_then(|values| values.iter().map(text).collect()).ok_or_else(|| "is not a list of strings".to_owned())
}
