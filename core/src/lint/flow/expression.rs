//! Single expressions. (E001, E002, E003, E005, E007)

use serde_json::Value;

use super::ground::{Ground, Place};
use super::spot::{Kind, Read, Spot};
use super::variables::variable;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::ValueType;
use crate::text::decimal;
use crate::text::expr::is_words;
use crate::text::path::Path;

/// Texts that can be equal to a boolean.
const TRUTHS: [&str; 4] = ["true", "false", "yes", "no"];

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (location, text) in context.texts() {
        match &text.read {
            Read::Expr(Err(error)) => {
                let fix = "correct the expression";
                findings.push(location.clone().error(error.code, error.message.clone()).fix(fix));
                if text.kind == Kind::Condition && is_words(text.source) {
                    let message = format!("'{}' is plain words, which only workflows match against messages", text.source.trim());
                    findings.push(location.error("E007", message).fix("write a comparison, such as 'event.text contains \"refund\"'"));
                }
            }
            Read::Expr(Ok(expr)) => {
                for path in expr.reads().iter().filter(|it| it.first() == "secret") {
                    let message = format!("'{path}' is not available: only requests of tools can use secrets");
                    findings.push(location.clone().error("E002", message).fix("use it in a header of the request"));
                }
                for (path, value) in expr.comparisons() {
                    findings.extend(mismatch(context, &location, text, &path, &value));
                }
            }
            Read::Braces(_) | Read::Path(_) => {}
        }
    }
}

/// Reports a comparison that is never equal because the types differ.
fn mismatch(context: &Ground<'_>, location: &Place, text: &Spot<'_>, path: &Path, value: &Value) -> Option<DocumentIssue> {
    let name = variable(path, text.here)?;
    let declared = context.flow.document.variables.iter().find(|it| it.name == name).map(|it| it.kind);
    let kind = declared.or_else(|| context.writes.kind(&name))?;
    let is_comparable = match (kind, value) {
        (ValueType::Any, _) | (_, Value::Null) => true,
        (ValueType::Number, Value::String(text)) => decimal::looks_like(text).is_some(),
        (ValueType::Boolean, Value::String(text)) => TRUTHS.contains(&text.trim().to_ascii_lowercase().as_str()),
        (ValueType::String, it) => it.is_string() || it.is_number() || it.is_boolean(),
        (ValueType::Number, it) => it.is_number(),
        (ValueType::Boolean, it) => it.is_boolean(),
        (ValueType::Array, it) => it.is_array(),
        (ValueType::Object, it) => it.is_object(),
    };
    (!is_comparable).then(|| {
        let message = format!("'{name}' is {}, but is compared with {value}", words(kind));
        location.clone().warning("E005", message).fix("compare it with a value of the same type")
    })
}

fn words(kind: ValueType) -> &'static str {
    match kind {
        ValueType::String => "a string",
        ValueType::Number => "a number",
        ValueType::Boolean => "a boolean",
        ValueType::Array => "an array",
        ValueType::Object => "an object",
        ValueType::Any => "anything",
    }
}
