//! Validates values.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::{Bound, JsonSchema, JsonType, Measure, Rule, TYPES, format};
use crate::json::canonical;
use crate::value::{Comparison, SCHEMA, is_multiple};

/// The deepest nesting of references in one validation.
const MAX_DEPTH: usize = 128;

/// The most references that one validation follows.
const MAX_REFERENCES: usize = 100_000;

/// Whether a rule of a schema admits a value.
pub(super) fn admits(schema: &JsonSchema, rule: &Rule, value: &Value) -> bool {
    rule.violation(&Validation::new(schema), value, "").is_none()
}

/// Returns the first violation.
pub(super) fn find_violation(schema: &JsonSchema, value: &Value) -> Option<String> {
    let cx = Validation::new(schema);
    let found = cx.find(&schema.rules, value, "");
    if cx.remaining.get() == 0 { Some("the value cannot be checked: '$ref' nests too deeply".to_owned()) } else { found }
}

/// One validation.
struct Validation<'s> {
    referenced: &'s [Vec<Rule>],
    /// The references that are being followed.
    depth: Cell<usize>,
    /// How many more may be followed; none once they nest too deeply.
    remaining: Cell<usize>,
}

impl<'s> Validation<'s> {
    fn new(schema: &'s JsonSchema) -> Validation<'s> {
        Validation { referenced: &schema.referenced, depth: Cell::new(0), remaining: Cell::new(MAX_REFERENCES) }
    }

    fn find(&self, rules: &[Rule], value: &Value, path: &str) -> Option<String> {
        rules.iter().find_map(|it| it.violation(self, value, path))
    }

    fn is_valid(&self, rules: &[Rule], value: &Value) -> bool {
        self.find(rules, value, "").is_none()
    }

    fn follow(&self, number: usize, value: &Value, path: &str) -> Option<String> {
        let depth = self.depth.get();
        let remaining = if depth < MAX_DEPTH { self.remaining.get().saturating_sub(1) } else { 0 };
        self.remaining.set(remaining);
        if remaining == 0 {
            return None;
        }
        self.depth.set(depth + 1);
        let found = self.find(self.referenced.get(number)?, value, path);
        self.depth.set(depth);
        found
    }
}

impl Rule {
    /// Returns how a value violates the rule.
    fn violation(&self, cx: &Validation<'_>, value: &Value, path: &str) -> Option<String> {
        let violation = |text: String| Some(format!("{} {text}", value_name(path)));
        let require = |is_met: bool, text: &dyn Fn() -> String| if is_met { None } else { violation(text()) };
        match self {
            Rule::Never => violation("is not allowed".to_owned()),
            Rule::Types(types) => require(types.iter().any(|it| it.is_valid(value)), &|| {
                let names: Vec<&str> = types.iter().filter_map(|kind| TYPES.iter().find(|it| it.1 == *kind)).map(|it| it.0).collect();
                format!("has to be of the type {}", names.join(" or "))
            }),
            Rule::Enum(values) => require(values.iter().any(|it| SCHEMA.are_equal(it, value)), &|| {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("has to be one of {}", values.join(", "))
            }),
            Rule::Properties(named) => {
                let members = value.as_object()?;
                named.iter().find_map(|(name, schema)| cx.find(schema, members.get(name)?, &format!("{path}.{name}")))
            }
            Rule::Required(names) => {
                let members = value.as_object()?;
                names
                    .iter()
                    .find(|it| !members.contains_key(*it))
                    .map(|name| format!("{} is missing", value_name(&format!("{path}.{name}"))))
            }
            Rule::Additional(named, schema) => {
                let others = value.as_object()?.iter().filter(|it| !named.contains(it.0));
                others.map(|(name, value)| cx.find(schema, value, &format!("{path}.{name}"))).find_map(|it| it)
            }
            Rule::Names(schema) => value.as_object()?.keys().find_map(|name| {
                let found = cx.find(schema, &Value::from(name.as_str()), &format!("{path}.{name}"))?;
                Some(format!("the name of {found}"))
            }),
            Rule::Items(schema) => {
                value.as_array()?.iter().enumerate().find_map(|(at, item)| cx.find(schema, item, &format!("{path}[{at}]")))
            }
            // Compared by their text: pairwise comparison is too slow for the lists that callers may send.
            Rule::UniqueItems => {
                let items = value.as_array()?;
                let distinct: BTreeSet<String> = items.iter().map(|item| canonical::to_text(&with_plain_numbers(item))).collect();
                require(distinct.len() == items.len(), &|| "has an item more than once".to_owned())
            }
            Rule::Length(measure, bound, limit) => {
                let (length, what) = measure.measure(value)?;
                require(bound.comparison().includes(length.cmp(limit)), &|| format!("has to have {} {limit} {what}", bound.as_words()))
            }
            Rule::Pattern(source, regex) => {
                require(regex.is_match(value.as_str()?).unwrap_or(false), &|| format!("has to match '{source}'"))
            }
            Rule::Format(format) => require(format::has_format(format, value.as_str()?), &|| format!("is not of the format '{format}'")),
            Rule::Number(bound, limit) => {
                let order = SCHEMA.compare(value.is_number().then_some(value), Some(limit))?;
                require(bound.comparison().includes(order), &|| format!("has to be {} {limit}", bound.as_words()))
            }
            Rule::MultipleOf(step) => require(is_multiple(value.as_number()?, step), &|| format!("has to be a multiple of {step}")),
            Rule::AllOf(schemas) => schemas.iter().find_map(|it| cx.find(it, value, path)),
            Rule::AnyOf(schemas) => {
                require(schemas.iter().any(|it| cx.is_valid(it, value)), &|| "fits none of the alternatives".to_owned())
            }
            Rule::ExactlyOne(schemas) => require(schemas.iter().filter(|it| cx.is_valid(it, value)).count() == 1, &|| {
                "has to fit exactly one of the alternatives".to_owned()
            }),
            Rule::Nullable(rules) => {
                if value.is_null() {
                    None
                } else {
                    cx.find(rules, value, path)
                }
            }
            Rule::Not(schema) => require(!cx.is_valid(schema, value), &|| "is what it must not be".to_owned()),
            Rule::Reference(number) => cx.follow(*number, value, path),
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
            JsonType::Integer => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
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
    fn comparison(self) -> Comparison {
        match self {
            Bound::AtLeast => Comparison::GreaterOrEqual,
            Bound::AtMost => Comparison::LessOrEqual,
            Bound::Above => Comparison::Greater,
            Bound::Below => Comparison::Less,
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

/// Returns a value whose numbers are integers where they are whole, so that equal values have the same text.
fn with_plain_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|whole| number.is_f64() && whole.fract() == 0.0 && whole.abs() < 1e18) {
            Some(whole) => Value::from(whole as i64),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(with_plain_numbers).collect(),
        Value::Object(members) => Value::Object(members.iter().map(|(name, member)| (name.clone(), with_plain_numbers(member))).collect()),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}
