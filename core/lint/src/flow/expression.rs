//! Single expressions. (E001, E002, E003, E005, E007)

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::ValueType;
use convengine_text::expr::{Expr, is_plain_words};
use convengine_text::value::decimal::parse_number;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;

use super::context::{FlowContext, Location};
use super::source_text::{ParsedText, SourceText, TextKind};
use super::variable_writes::variable_of_path;

/// Texts that can be equal to a boolean.
const BOOLEAN_WORDS: [&str; 4] = ["true", "false", "yes", "no"];

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (location, text) in context.all_texts() {
        check_parsed(&location, text, findings);
        for (path, value) in text.expr().map(Expr::comparisons).unwrap_or_default() {
            findings.extend(check_comparison(context, &location, text, &path, &value));
        }
    }
}

/// Checks an expression by itself; other texts pass.
pub(super) fn check_parsed(location: &Location, text: &SourceText<'_>, findings: &mut Vec<DocumentIssue>) {
    match &text.parsed {
        ParsedText::Expr(Err(error)) => {
            let fix = "correct the expression";
            findings.push(location.clone().error(error.code, error.message.clone()).with_fix(fix));
            if text.kind == TextKind::Condition && is_plain_words(text.source) {
                let message = format!("'{}' is a phrase, not an expression; only workflow conditions match phrases", text.source.trim());
                let fix = "write a comparison, such as 'event.text contains \"refund\"'";
                findings.push(location.clone().error("E007", message).with_fix(fix));
            }
        }
        ParsedText::Expr(Ok(expr)) => {
            for path in expr.paths().iter().filter(|path| path.first_name() == "secret") {
                let message = format!("'{path}' is not available: only requests of tools can use secrets");
                findings.push(location.clone().error("E002", message).with_fix("use it in a header of the request"));
            }
        }
        ParsedText::Interpolation(_) | ParsedText::Path(_) => {}
    }
}

/// Reports a comparison that is never equal because the types differ.
fn check_comparison(
    context: &FlowContext<'_>,
    location: &Location,
    text: &SourceText<'_>,
    path: &VariablePath,
    value: &Value,
) -> Option<DocumentIssue> {
    let name = variable_of_path(path, text.extra_roots)?;
    let declared = context.flow.document.variables.iter().find(|it| it.name == name).map(|it| it.kind);
    let kind = declared.or_else(|| context.writes.value_type(&name))?;
    let is_comparable = match (kind, value) {
        (ValueType::Any, _) | (_, Value::Null) => true,
        (ValueType::Number, Value::String(text)) => parse_number(text).is_some(),
        (ValueType::Boolean, Value::String(text)) => BOOLEAN_WORDS.contains(&text.trim().to_ascii_lowercase().as_str()),
        (ValueType::String, it) => it.is_string() || it.is_number() || it.is_boolean(),
        (ValueType::Number, it) => it.is_number(),
        (ValueType::Boolean, it) => it.is_boolean(),
        (ValueType::Array, it) => it.is_array(),
        (ValueType::Object, it) => it.is_object(),
    };
    (!is_comparable).then(|| {
        let message = format!("'{name}' is {}, but is compared with {value}", describe_type(kind));
        location.clone().warning("E005", message).with_fix("compare it with a value of the same type")
    })
}

fn describe_type(kind: ValueType) -> &'static str {
    match kind {
        ValueType::String => "a string",
        ValueType::Number => "a number",
        ValueType::Boolean => "a boolean",
        ValueType::Array => "an array",
        ValueType::Object => "an object",
        ValueType::Any => "anything",
    }
}
