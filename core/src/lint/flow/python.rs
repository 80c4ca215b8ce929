//! Python scripts, checked by their tokens. (P001–P006, P010)

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::{Ground, Place};
use super::token::{Token, tokens};
use crate::config::flow::DocumentIssue;

/// Modules that scripts may import.
const MODULES: [&str; 14] = [
    "math",
    "re",
    "json",
    "datetime",
    "decimal",
    "statistics",
    "string",
    "itertools",
    "functools",
    "collections",
    "unicodedata",
    "hashlib",
    "base64",
    "random",
];

/// Names that could escape the sandbox.
const FORBIDDEN: [&str; 5] = ["exec", "eval", "open", "__import__", "globals"];

/// Allowed dunder names.
const HARMLESS: [&str; 3] = ["__name__", "__doc__", "__init__"];

/// A logical line with its number.
type Line<'s> = (usize, Vec<Token<'s>>);

pub(super) fn check(context: &Ground<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes().filter(|it| it.2.type_name == "python") {
        let location = graph_cx.place_of(at).at("/data");
        if let (Some(limit), Some(timeout)) = (context.around.script_timeout_ms, graph_cx.data(at, "timeout_ms").and_then(Value::as_u64))
            && timeout > limit
        {
            let message = format!("the timeout of '{}' is {timeout} ms, but the limit of the workspace is {limit} ms", node.name);
            findings.push(location.at("/timeout_ms").error("P006", message).fix("reduce the timeout"));
        }
        let code = graph_cx.data(at, "code").and_then(Value::as_str).unwrap_or_default();
        let code_location = location.at("/code");
        match tokens(code) {
            Err((line, reason)) => {
                findings.push(code_location.error("P001", format!("line {line}: {reason}")).fix("correct the script"));
            }
            Ok(tokens) => {
                let lines = lines(&tokens);
                imports(&lines, &code_location, findings);
                names(&tokens, &code_location, findings);
                writes(&tokens, &code_location, findings);
                let declared = graph_cx.data(at, "branches").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                branches(&lines, &declared.collect::<Vec<_>>(), &location, findings);
                if is_assignment(&lines) {
                    let message = format!("'{}' only writes variables", node.name);
                    findings.push(code_location.info("P010", message).fix("use a node of the type 'set', which does not need an interpreter"));
                }
            }
        }
    }
}

/// Returns the non-empty logical lines of a script.
fn lines<'s>(tokens: &[(usize, Token<'s>)]) -> Vec<Line<'s>> {
    let mut lines: Vec<Line<'s>> = Vec::new();
    let mut open: Line<'s> = (0, Vec::new());
    for (line, token) in tokens {
        if matches!(token, Token::Line | Token::Mark(";")) {
            lines.extend((!open.1.is_empty()).then(|| std::mem::take(&mut open)));
            continue;
        }
        if open.1.is_empty() {
            open.0 = *line;
        }
        open.1.push(*token);
    }
    lines
}

fn imports(lines: &[Line<'_>], location: &Place, findings: &mut Vec<DocumentIssue>) {
    for (line, tokens) in lines {
        let mut names = Vec::new();
        match tokens.as_slice() {
            [Token::Name("from"), Token::Name(module), ..] => names.push(*module),
            [Token::Name("from"), Token::Mark("."), ..] => names.push("."),
            [Token::Name("import"), rest @ ..] => {
                let first = |part: &[Token<'_>]| part.first().is_some_and(|it| matches!(it, Token::Name(_)));
                let parts = rest.split(|it| *it == Token::Mark(",")).filter(|it| first(it));
                names.extend(parts.filter_map(|it| if let Some(Token::Name(name)) = it.first() { Some(*name) } else { None }));
            }
            _ => {}
        }
        for name in names.into_iter().filter(|it| !MODULES.contains(it)) {
            let message = format!("line {line}: '{name}' cannot be imported");
            findings.push(location.clone().error("P002", message).fix(format!("scripts may import {}", MODULES.join(", "))));
        }
    }
}

fn names(tokens: &[(usize, Token<'_>)], location: &Place, findings: &mut Vec<DocumentIssue>) {
    let mut before = Token::Line;
    let mut reported = BTreeSet::new();
    for (line, token) in tokens {
        if let Token::Name(name) = token {
            let is_member = before == Token::Mark(".");
            let is_inner = name.starts_with("__") && name.ends_with("__") && name.len() > 4 && !HARMLESS.contains(name);
            if (FORBIDDEN.contains(name) && !is_member || is_inner) && reported.insert(*name) {
                let message = format!("line {line}: scripts may not use '{name}'");
                findings.push(location.clone().error("P003", message).fix("remove it: scripts can only use variables"));
            }
        }
        before = *token;
    }
}

/// Reports writes to engine variables, `session["_name"] = …`.
fn writes(tokens: &[(usize, Token<'_>)], location: &Place, findings: &mut Vec<DocumentIssue>) {
    for window in tokens.windows(5) {
        let [(line, Token::Name("session")), (_, Token::Mark("[")), (_, Token::Text(Some(name))), (_, Token::Mark("]")), (_, end)] = window
        else {
            continue;
        };
        let is_written = matches!(end, Token::Mark(mark) if mark.ends_with('=') && !["==", "!=", "<=", ">="].contains(mark));
        if is_written && name.starts_with('_') {
            let message = format!("line {line}: '{name}' is reserved for the engine");
            findings.push(location.clone().error("P005", message).fix("use a name that does not begin with '_'"));
        }
    }
}

/// Checks the branches that a script sets. Any value that is not a string literal may be any branch.
fn branches(lines: &[Line<'_>], declared: &[&str], location: &Place, findings: &mut Vec<DocumentIssue>) {
    let mut set = BTreeSet::new();
    let mut is_known = true;
    for (line, tokens) in lines {
        let uses = tokens.iter().any(|it| matches!(it, Token::Name("branch")));
        match tokens.as_slice() {
            [.., Token::Name("branch"), Token::Mark("="), Token::Text(Some(name))] => {
                if !declared.contains(name) && set.insert(*name) {
                    let message = format!("line {line}: the branch '{name}' is not declared");
                    findings.push(location.at("/code").error("P004", message).fix("add it to 'branches'"));
                }
                set.insert(*name);
            }
            _ => is_known &= !uses,
        }
    }
    for (at, name) in declared.iter().enumerate().filter(|it| is_known && !set.contains(*it.1)) {
        let message = format!("the branch '{name}' is declared but never set");
        findings.push(location.at(&format!("/branches/{at}")).error("P004", message).fix("set it, or remove it from 'branches'"));
    }
}

/// Whether each line only assigns a variable, without calls and control flow.
fn is_assignment(lines: &[Line<'_>]) -> bool {
    let plain = |it: &Token<'_>| match it {
        Token::Name(name) => ["True", "False", "None", "session", "and", "or", "not"].contains(name),
        Token::Mark(mark) => ["+", "-", "*", "/", "%", "[", "]", "==", "!=", "<", ">", "<=", ">="].contains(mark),
        Token::Text(text) => text.is_some(),
        Token::Number => true,
        Token::Line => false,
    };
    let writes = |(_, tokens): &Line<'_>| match tokens.as_slice() {
        [Token::Name("session"), Token::Mark("["), Token::Text(Some(_)), Token::Mark("]"), Token::Mark("="), value @ ..] => {
            !value.is_empty() && value.iter().all(plain)
        }
        _ => false,
    };
    !lines.is_empty() && lines.iter().all(writes)
}
