//! Parses a template into text, placeholders and secrets.

use super::filter::Filter;
use super::{Hole, Piece, Wrong};
use crate::text::scan::Scan;

/// The most bytes of a template.
const MOST_BYTES: usize = 32 * 1024;

/// The most filters of a placeholder.
const MOST_FILTERS: usize = 16;

/// The most characters of a secret's name.
const MOST_NAME: usize = 64;

pub(super) fn pieces(source: &str) -> Result<Vec<Piece>, Wrong> {
    if source.len() > MOST_BYTES {
        return Err(Wrong { code: "T006", message: "the template is longer than 32 KiB; split it".to_owned() });
    }
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut scan = Scan::new(source);
    while let Some(at) = scan.rest.find("{{") {
        let (before, rest) = scan.rest.split_at(at);
        scan.rest = rest;
        if let Some(before) = before.strip_suffix('\\') {
            text.push_str(before);
            text.push_str("{{");
            scan.eat("{{");
            continue;
        }
        text.push_str(before);
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece(&mut scan)?);
    }
    text.push_str(scan.rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Builds a syntax error (`T001`).
pub(super) fn bad(message: String) -> Wrong {
    Wrong { code: "T001", message }
}

fn piece(scan: &mut Scan<'_>) -> Result<Piece, Wrong> {
    let open = *scan;
    scan.eat("{{");
    if !scan.rest.contains("}}") {
        return Err(bad(open.wrong("unterminated '{{'") + "; add '}}', or write '\\{{' for literal braces"));
    }
    scan.space();
    let piece = match secret(scan)? {
        Some(name) => Piece::Secret(name),
        None => {
            let path = scan.path().map_err(bad)?;
            let mut filters = Vec::new();
            scan.space();
            while scan.eat("|") {
                if filters.len() == MOST_FILTERS {
                    return Err(bad(scan.wrong("more than 16 filters") + "; store the value in a variable first"));
                }
                scan.space();
                filters.push(Filter::read(scan)?);
                scan.space();
            }
            Piece::Hole(Hole { path, filters })
        }
    };
    scan.space();
    if scan.eat("}}") {
        return Ok(piece);
    }
    Err(bad(match piece {
        Piece::Secret(_) => scan.expected("'}}', since a secret has neither members nor filters"),
        Piece::Hole(_) | Piece::Text(_) => scan.expected("'}}' or '|' and a filter; use a 'set' node to calculate"),
    }))
}

/// Parses the name of a secret after `secret.` or `secret:`.
fn secret(scan: &mut Scan<'_>) -> Result<Option<String>, Wrong> {
    if !(scan.eat("secret.") || scan.eat("secret:")) {
        return Ok(None);
    }
    let start = *scan;
    let name = scan.name();
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(is_allowed) || name.len() > MOST_NAME {
        return Err(bad(start.expected("the name of a secret in capital letters, such as API_KEY")));
    }
    Ok(Some(name.to_owned()))
}
