//! Python scripts, checked by their tokens. (P001–P006, P010)

use std::collections::BTreeSet;

use convengine_config::flow::DocumentIssue;
use convengine_config::flow::document::NodeKind;
use serde_json::Value;

use super::context::{FlowContext, Location};
use super::python_token::{Token, tokenize};

/// Modules that scripts may import.
const ALLOWED_MODULES: [&str; 14] = [
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
const FORBIDDEN_NAMES: [&str; 5] = ["exec", "eval", "open", "__import__", "globals"];

/// Allowed dunder names.
const ALLOWED_DUNDERS: [&str; 3] = ["__name__", "__doc__", "__init__"];

/// A logical line with its number.
type LogicalLine<'s> = (usize, Vec<Token<'s>>);

pub(super) fn check(context: &FlowContext<'_>, findings: &mut Vec<DocumentIssue>) {
    for (graph_cx, at, node) in context.nodes().filter(|it| it.2.type_name == "python") {
        let location = graph_cx.node_location(at).join("/data");
        if let (Some(limit), Some(timeout)) =
            (context.target.script_timeout_ms, graph_cx.node_data(at, "timeout_ms").and_then(Value::as_u64))
            && timeout > limit
        {
            let message = format!("the timeout of '{}' is {timeout} ms, but the limit of the workspace is {limit} ms", node.name);
            findings.push(location.join("/timeout_ms").error("P006", message).with_fix("reduce the timeout"));
        }
        let code = graph_cx.node_data(at, "code").and_then(Value::as_str).unwrap_or_default();
        let code_location = location.join("/code");
        let of_interpreter =
            if let NodeKind::Python(data) = &node.kind { context.target.script_issues.get(&data.script.hash) } else { None };
        for (line, reason) in of_interpreter.into_iter().flatten() {
            findings.push(code_location.clone().error("P001", format!("line {line}: {reason}")).with_fix("correct the script"));
        }
        match tokenize(code) {
            // The interpreter has reported it with its own words.
            Err(_) if of_interpreter.is_some_and(|it| !it.is_empty()) => {}
            Err((line, reason)) => {
                findings.push(code_location.error("P001", format!("line {line}: {reason}")).with_fix("correct the script"));
            }
            Ok(tokens) => {
                let lines = split_lines(&tokens);
                check_imports(&lines, &code_location, findings);
                check_names(&tokens, &code_location, findings);
                check_writes(&tokens, &code_location, findings);
                let declared = graph_cx.node_data(at, "branches").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                check_branches(&lines, &declared.collect::<Vec<_>>(), &location, findings);
                if is_assignment_only(&lines) {
                    let message = format!("'{}' only writes variables", node.name);
                    findings.push(
                        code_location.info("P010", message).with_fix("use a node of the type 'set', which does not need an interpreter"),
                    );
                }
            }
        }
    }
}

/// Returns the non-empty logical lines of a script.
fn split_lines<'s>(tokens: &[(usize, Token<'s>)]) -> Vec<LogicalLine<'s>> {
    let mut lines: Vec<LogicalLine<'s>> = Vec::new();
    let mut open: LogicalLine<'s> = (0, Vec::new());
    for (line, token) in tokens {
        if matches!(token, Token::LineEnd | Token::Operator(";")) {
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

fn check_imports(lines: &[LogicalLine<'_>], location: &Location, findings: &mut Vec<DocumentIssue>) {
    for (line, tokens) in lines {
        let mut names = Vec::new();
        match tokens.as_slice() {
            [Token::Name("from"), Token::Name(module), ..] => names.push(*module),
            [Token::Name("from"), Token::Operator("."), ..] => names.push("."),
            [Token::Name("import"), rest @ ..] => {
                let first = |part: &[Token<'_>]| part.first().is_some_and(|token| matches!(token, Token::Name(_)));
                let parts = rest.split(|token| *token == Token::Operator(",")).filter(|it| first(it));
                names.extend(parts.filter_map(|part| if let Some(Token::Name(name)) = part.first() { Some(*name) } else { None }));
            }
            _ => {}
        }
        for name in names.into_iter().filter(|it| !ALLOWED_MODULES.contains(it)) {
            let message = format!("line {line}: '{name}' cannot be imported");
            findings.push(location.clone().error("P002", message).with_fix(format!("scripts may import {}", ALLOWED_MODULES.join(", "))));
        }
    }
}

fn check_names(tokens: &[(usize, Token<'_>)], location: &Location, findings: &mut Vec<DocumentIssue>) {
    let mut before = Token::LineEnd;
    let mut reported = BTreeSet::new();
    for (line, token) in tokens {
        if let Token::Name(name) = token {
            let is_member = before == Token::Operator(".");
            let is_inner = name.starts_with("__") && name.ends_with("__") && name.len() > 4 && !ALLOWED_DUNDERS.contains(name);
            if (FORBIDDEN_NAMES.contains(name) && !is_member || is_inner) && reported.insert(*name) {
                let message = format!("line {line}: scripts must not use '{name}'");
                findings.push(location.clone().error("P003", message).with_fix("remove it: scripts can only use variables"));
            }
        }
        before = *token;
    }
}

/// Reports writes to engine variables, `session["_name"] = …`.
fn check_writes(tokens: &[(usize, Token<'_>)], location: &Location, findings: &mut Vec<DocumentIssue>) {
    for window in tokens.windows(5) {
        let [(line, Token::Name("session")), (_, Token::Operator("[")), (_, Token::Str(Some(name))), (_, Token::Operator("]")), (_, end)] =
            window
        else {
            continue;
        };
        let is_written = matches!(end, Token::Operator(mark) if mark.ends_with('=') && !["==", "!=", "<=", ">="].contains(mark));
        if is_written && name.starts_with('_') {
            let message = format!("line {line}: '{name}' is reserved for the engine");
            findings.push(location.clone().error("P005", message).with_fix("use a name that does not begin with '_'"));
        }
    }
}

/// Checks the branches that a script sets. Any value that is not a string literal may be any branch.
fn check_branches(lines: &[LogicalLine<'_>], declared: &[&str], location: &Location, findings: &mut Vec<DocumentIssue>) {
    let mut set = BTreeSet::new();
    let mut is_known = true;
    for (line, tokens) in lines {
        let uses = tokens.iter().any(|token| matches!(token, Token::Name("branch")));
        match tokens.as_slice() {
            [.., Token::Name("branch"), Token::Operator("="), Token::Str(Some(name))] => {
                if !declared.contains(name) && set.insert(*name) {
                    let message = format!("line {line}: the branch '{name}' is not declared");
                    findings.push(location.join("/code").error("P004", message).with_fix("add it to 'branches'"));
                }
                set.insert(*name);
            }
            _ => is_known &= !uses,
        }
    }
    for (at, name) in declared.iter().enumerate().filter(|&(_, name)| is_known && !set.contains(*name)) {
        let message = format!("the branch '{name}' is declared but never set");
        findings.push(location.join(&format!("/branches/{at}")).error("P004", message).with_fix("set it, or remove it from 'branches'"));
    }
}

/// Whether each line only assigns a variable, without calls and control flow.
fn is_assignment_only(lines: &[LogicalLine<'_>]) -> bool {
    let plain = |token: &Token<'_>| match token {
        Token::Name(name) => ["True", "False", "None", "session", "and", "or", "not"].contains(name),
        Token::Operator(mark) => ["+", "-", "*", "/", "%", "[", "]", "==", "!=", "<", ">", "<=", ">="].contains(mark),
        Token::Str(text) => text.is_some(),
        Token::Number => true,
        Token::LineEnd => false,
    };
    let writes = |(_, tokens): &LogicalLine<'_>| match tokens.as_slice() {
        [Token::Name("session"), Token::Operator("["), Token::Str(Some(_)), Token::Operator("]"), Token::Operator("="), value @ ..] => {
            !value.is_empty() && value.iter().all(plain)
        }
        _ => false,
    };
    !lines.is_empty() && lines.iter().all(writes)
}
