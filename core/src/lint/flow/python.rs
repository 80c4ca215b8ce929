//! Scripts, as far as their tokens tell. (P001–P006, P010)

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::{Ground, Place};
use super::token::{Token, tokens};
use crate::config::flow::DocumentIssue;

/// Modules that scripts may use.
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

/// Names that lead out of the sandbox.
const FORBIDDEN: [&str; 5] = ["exec", "eval", "open", "__import__", "globals"];

/// Names with underscores that every script may use.
const HARMLESS: [&str; 3] = ["__name__", "__doc__", "__init__"];

type Line<'s> = (usize, Vec<Token<'s>>);

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<DocumentIssue>) {
    for (chart, at, node) in ground.nodes().filter(|it| it.2.type_name == "python") {
        let place = chart.place_of(at).at("/data");
        if let (Some(most), Some(given)) = (ground.around.script_timeout_ms, chart.data(at, "timeout_ms").and_then(Value::as_u64))
            && given > most
        {
            let message = format!("'{}' may run for {given} ms, and the workspace allows {most}", node.name);
            found.push(place.at("/timeout_ms").error("P006", message).fix("lower it"));
        }
        let code = chart.data(at, "code").and_then(Value::as_str).unwrap_or_default();
        let place_of_code = place.at("/code");
        match tokens(code) {
            Err((line, wrong)) => {
                found.push(place_of_code.error("P001", format!("line {line}: {wrong}")).fix("correct the script"));
            }
            Ok(tokens) => {
                let lines = lines(&tokens);
                imports(&lines, &place_of_code, found);
                names(&tokens, &place_of_code, found);
                writes(&tokens, &place_of_code, found);
                let declared = chart.data(at, "branches").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
                branches(&lines, &declared.collect::<Vec<_>>(), &place, found);
                if is_assignment(&lines) {
                    let message = format!("'{}' does nothing but write variables", node.name);
                    found.push(place_of_code.info("P010", message).fix("use a node of the type 'set', which needs no interpreter"));
                }
            }
        }
    }
}

/// The logical lines of a script that hold something, each with its number.
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

fn imports(lines: &[Line<'_>], place: &Place, found: &mut Vec<DocumentIssue>) {
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
            found.push(place.clone().error("P002", message).fix(format!("scripts may import {}", MODULES.join(", "))));
        }
    }
}

fn names(tokens: &[(usize, Token<'_>)], place: &Place, found: &mut Vec<DocumentIssue>) {
    let mut before = Token::Line;
    let mut told = BTreeSet::new();
    for (line, token) in tokens {
        if let Token::Name(name) = token {
            let is_member = before == Token::Mark(".");
            let is_inner = name.starts_with("__") && name.ends_with("__") && name.len() > 4 && !HARMLESS.contains(name);
            if (FORBIDDEN.contains(name) && !is_member || is_inner) && told.insert(*name) {
                let message = format!("line {line}: scripts may not use '{name}'");
                found.push(place.clone().error("P003", message).fix("do without it: scripts reach nothing but variables"));
            }
        }
        before = *token;
    }
}

/// `session["_name"] = …`
fn writes(tokens: &[(usize, Token<'_>)], place: &Place, found: &mut Vec<DocumentIssue>) {
    for window in tokens.windows(5) {
        let [(line, Token::Name("session")), (_, Token::Mark("[")), (_, Token::Text(Some(name))), (_, Token::Mark("]")), (_, end)] = window
        else {
            continue;
        };
        let is_written = matches!(end, Token::Mark(mark) if mark.ends_with('=') && !["==", "!=", "<=", ">="].contains(mark));
        if is_written && name.starts_with('_') {
            let message = format!("line {line}: '{name}' belongs to the engine, and scripts cannot write it");
            found.push(place.clone().error("P005", message).fix("write to a name that does not begin with '_'"));
        }
    }
}

/// Branches that are set as texts are known; any other value may be each of them.
fn branches(lines: &[Line<'_>], declared: &[&str], place: &Place, found: &mut Vec<DocumentIssue>) {
    let mut set = BTreeSet::new();
    let mut is_known = true;
    for (line, tokens) in lines {
        let uses = tokens.iter().any(|it| matches!(it, Token::Name("branch")));
        match tokens.as_slice() {
            [.., Token::Name("branch"), Token::Mark("="), Token::Text(Some(name))] => {
                if !declared.contains(name) && set.insert(*name) {
                    let message = format!("line {line}: the branch '{name}' is not declared");
                    found.push(place.at("/code").error("P004", message).fix("add it to 'branches'"));
                }
                set.insert(*name);
            }
            _ => is_known &= !uses,
        }
    }
    for (at, name) in declared.iter().enumerate().filter(|it| is_known && !set.contains(*it.1)) {
        let message = format!("the branch '{name}' is declared, and the script never sets it");
        found.push(place.at(&format!("/branches/{at}")).error("P004", message).fix("set it, or remove it from 'branches'"));
    }
}

/// Whether each line writes a variable, and calls and decides nothing.
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
