//! Expressions by themselves. (E001, E002, E003, E005, E007)

use serde_json::Value;

use super::ground::{Ground, Place};
use super::spot::{Kind, Read, Spot};
use super::variables::variable;
use crate::config::flow::DocumentIssue;
use crate::config::flow::document::ValueType;
use crate::text::decimal;
use crate::text::expr::is_words;
use crate::text::path::Path;

/// Words that a boolean is equal to.
const TRUTHS: [&str; 4] = ["true", "false", "yes", "no"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (place, spot) in ground.texts() {
        match &spot.read {
            Read::Expr(Err(wrong)) => {
                let fix = "correct the expression";
                found.push(place.clone().error(wrong.code, wrong.message.clone()).fix(fix));
                if spot.kind == Kind::Condition && is_words(spot.source) {
                    let message = format!("'{}' is searched for in what is said by workflows alone", spot.source.trim());
                    found.push(place.error("E007", message).fix("write a comparison, as 'event.text contains \"refund\"'"));
                }
            }
            Read::Expr(Ok(expr)) => {
                for path in expr.reads().iter().filter(|it| it.first() == "secret") {
                    let message = format!("'{path}' cannot be read: secrets are known to the requests of tools alone");
                    found.push(place.clone().error("E002", message).fix("name it in a header of the request"));
                }
                for (path, value) in expr.comparisons() {
                    found.extend(mismatch(ground, &place, spot, &path, &value));
                }
            }
            Read::Braces(_) | Read::Path(_) => {}
        }
    }
}

/// A comparison that cannot be equal, because the variable is never of a kind that the value is.
fn mismatch(ground: &Ground<'_>, place: &Place, spot: &Spot<'_>, path: &Path, value: &Value) -> Option<DocumentIssue> {
    let name = variable(path, spot.here)?;
    let declared = ground.flow.document.variables.iter().find(|it| it.name == name).map(|it| it.kind);
    let kind = declared.or_else(|| ground.writes.kind(&name))?;
    let meets = match (kind, value) {
        (ValueType::Any, _) | (_, Value::Null) => true,
        (ValueType::Number, Value::String(text)) => decimal::looks_like(text).is_some(),
        (ValueType::Boolean, Value::String(text)) => TRUTHS.contains(&text.trim().to_ascii_lowercase().as_str()),
        (ValueType::String, it) => it.is_string() || it.is_number() || it.is_boolean(),
        (ValueType::Number, it) => it.is_number(),
        (ValueType::Boolean, it) => it.is_boolean(),
        (ValueType::Array, it) => it.is_array(),
        (ValueType::Object, it) => it.is_object(),
    };
    (!meets).then(|| {
        let message = format!("'{name}' is {}, and is compared with {value}", words(kind));
        place.clone().warning("E005", message).fix("compare it with a value of its type")
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
