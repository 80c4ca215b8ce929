//! Checks a script without running it.

use crate::message::{CheckInput, CheckOutput};
use crate::source::{self, Finding};
use crate::{meter, run};

/// Fuel for a check.
const FUEL: u64 = 200_000_000;

/// Returns the syntax errors of a script, and what it uses that the interpreter lacks.
pub fn check(input: &[u8]) -> CheckOutput {
    meter::allow_fuel(FUEL);
    let issues = match serde_json::from_slice::<CheckInput>(input) {
        Ok(input) => find_issues(&input.code),
        Err(error) => vec![Finding { line: 1, message: format!("invalid input: {error}") }],
    };
    CheckOutput { issues }
}

fn find_issues(code: &str) -> Vec<Finding> {
    let prepared = match source::prepare(code) {
        Ok(prepared) => prepared,
        Err(finding) => return vec![finding],
    };
    let mut issues = prepared.imports;
    issues.extend(prepared.refused);
    issues.extend(prepared.builtins);
    if let Err(error) = run::compile(&prepared.code) {
        let (line, message) = run::describe(&error);
        issues.push(Finding { line: line.unwrap_or(1), message });
    }
    issues.sort_by_key(|it| it.line);
    issues
}
