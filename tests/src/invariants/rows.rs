//! Which rows of a pack print the reason of a failure, and which consist of values only.

use convengine_core::pack::Pack;
use convengine_core::turn::{Map, NoticeBody, VerboseNotice};
use serde_json::Value;

use crate::simulate::run::TurnRun;

/// The expressions that resolve to the error message of an effect.
const ERROR_EXPRESSIONS: [&str; 6] = [
    "lifecycle.errorMessage",
    "mcp.observations",
    "toolExecutionError.errorMessage",
    "pending_action_runtime.reason",
    "tool_result.error",
    "errorMessage",
];

/// The rows of a pack whose texts users see.
#[derive(Debug, Clone, Default)]
pub struct PackRows {
    replies: Vec<RowText>,
    progress: Vec<RowText>,
}

/// What a row prints.
#[derive(Debug, Clone, Copy)]
struct RowText {
    id: i64,
    /// Whether it prints the reason of a failure.
    prints_reason: bool,
    /// Whether it consists of values only, so that it is empty if they are missing.
    is_values_only: bool,
}

impl PackRows {
    /// Reads the rows of a pack.
    pub fn from_pack(pack: &Pack) -> PackRows {
        let rows = |table: &str, id: &str, columns: &[&str]| -> Vec<RowText> {
            let rows = pack.tables.0.get(table).into_iter().flatten();
            rows.map(|row| parse_row(row, id, columns)).collect()
        };
        PackRows {
            replies: rows("ce_response", "response_id", &["exact_text"]),
            progress: rows("ce_verbose", "verbose_id", &["message", "error_message"]),
        }
    }

    /// Returns whether the row of the reply prints the reason of a failure.
    pub fn has_reason_in_reply(&self, run: &TurnRun) -> bool {
        self.any_reply_row(run, |it| it.prints_reason)
    }

    /// Returns whether the row of the reply consists of values only.
    pub fn has_values_only_reply(&self, run: &TurnRun) -> bool {
        self.any_reply_row(run, |it| it.is_values_only)
    }

    /// Returns whether the row of a progress message prints the reason of a failure.
    pub fn has_reason_in_progress(&self, notice: &VerboseNotice) -> bool {
        self.progress.iter().any(|row| Some(row.id) == notice.verbose_id && row.prints_reason)
    }

    /// If the turn does not audit the row of its reply, any row may be it.
    fn any_reply_row(&self, run: &TurnRun, is: impl Fn(&RowText) -> bool) -> bool {
        let audited = run.notices.iter().rev().find_map(|notice| match &notice.body {
            NoticeBody::Audit { stage, payload } if stage == "ASSISTANT_OUTPUT" => Some(payload.get("responseId").and_then(Value::as_i64)),
            NoticeBody::Audit { .. } | NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
        });
        self.replies.iter().any(|reply| audited.is_none_or(|id| id == Some(reply.id)) && is(reply))
    }
}

fn parse_row(row: &Map, id: &str, columns: &[&str]) -> RowText {
    let texts = || columns.iter().filter_map(|column| row.get(*column)?.as_str());
    let names = |values: &str| ERROR_EXPRESSIONS.iter().any(|expression| values.contains(expression));
    RowText {
        id: row.get(id).and_then(Value::as_i64).unwrap_or_default(),
        prints_reason: texts().any(|text| names(&split_expressions(text).1.replace('?', ""))),
        is_values_only: texts().any(|text| serde_json::from_str::<Value>(text).is_err() && split_expressions(text).0.trim().is_empty()),
    }
}

/// The delimiters of expressions and blocks.
const DELIMITERS: [(&str, &str); 7] = [("{{", "}}"), ("[(", ")]"), ("[[", "]]"), ("[#", "]"), ("[/", "]"), ("${", "}"), ("#{", "}")];

/// Splits a text into its literal part and its expressions.
fn split_expressions(text: &str) -> (String, String) {
    let (mut words, mut values) = (String::new(), String::new());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let mark = DELIMITERS.iter().find_map(|(begin, end)| {
            let inner = rest.strip_prefix(begin)?;
            let at = inner.find(end)?;
            Some((inner.get(..at)?, inner.get(at + end.len()..)?))
        });
        match mark {
            Some((inside, after)) => {
                values.push_str(inside);
                values.push('\n');
                rest = after;
            }
            None => {
                words.push(letter);
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            }
        }
    }
    (words, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(text: &str) -> (bool, bool) {
        let row = json!({"response_id": 1, "exact_text": text});
        let row = parse_row(row.as_object().unwrap(), "response_id", &["exact_text"]);
        (row.prints_reason, row.is_values_only)
    }

    #[test]
    fn a_row_is_classified_by_its_expressions() {
        assert_eq!(row("An error, sorry: errorMessage."), (false, false));
        assert_eq!(row("Sorry: {{context.mcp.toolExecutionError.errorMessage}}"), (true, false));
        assert_eq!(row("[(${inputParams.tool_result?.error ?: ''})]"), (true, true));
        assert_eq!(row("{{inputParams.guardrail_reason}}"), (false, true));
        assert_eq!(row("[(${context.mcp.finalAnswer})]"), (false, true));
        assert_eq!(row("[{{intent}}]"), (false, false));
        assert_eq!(row(r#"{"card": "{{intent}}"}"#), (false, false));
    }
}
