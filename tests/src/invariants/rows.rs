//! What the author of a pack lets answers and progress messages print.

use convengine_core::pack::Pack;
use serde_json::Value;

/// Names under which rows find why something failed.
const REASONS: [&str; 5] = ["error", "reason", "observations", "tool_result", "lifecycle"];

/// Wishes of the author that a fault makes visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// A row prints why something failed.
    pub print_errors: bool,
    /// A row is nothing but values, and says nothing when they are missing.
    pub print_nothing: bool,
}

impl Rows {
    /// Those of a pack.
    pub fn of(pack: &Pack) -> Rows {
        let columns = [("ce_response", "exact_text"), ("ce_verbose", "message"), ("ce_verbose", "error_message")];
        let texts = |(table, column): (&str, &str)| -> Vec<String> {
            let rows = pack.tables.0.get(table).into_iter().flatten();
            rows.filter_map(|it| it.get(column).and_then(Value::as_str)).map(str::to_owned).collect()
        };
        let all: Vec<String> = columns.into_iter().flat_map(texts).collect();
        let values = |it: &String| it.split_once(['{', '[', '#']).is_some();
        let names = |it: &String| REASONS.iter().any(|reason| it.to_lowercase().contains(reason));
        Rows {
            print_errors: all.iter().any(|it| values(it) && names(it)),
            print_nothing: texts(columns[0]).iter().any(|it| words_of(it).trim().is_empty()),
        }
    }
}

/// The text without its expressions.
fn words_of(text: &str) -> String {
    let mut depth = 0_usize;
    let mut words = String::new();
    for letter in text.chars() {
        match letter {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            '$' | '#' => {}
            _ if depth == 0 => words.push(letter),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(text: &str) -> (bool, bool) {
        let pack = json!({"name": "n", "tables": {"ce_response": [{"exact_text": text}]}});
        let rows = Rows::of(&serde_json::from_value(pack).unwrap());
        (rows.print_errors, rows.print_nothing)
    }

    #[test]
    fn a_row_is_judged_by_its_expressions() {
        assert_eq!(rows("An error, sorry."), (false, false));
        assert_eq!(rows("Sorry: {{context.mcp.toolExecutionError.errorMessage}}"), (true, false));
        assert_eq!(rows("[(${context.mcp.finalAnswer})]"), (false, true));
    }
}
