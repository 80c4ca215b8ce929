//! Parses a template into text, placeholders and secrets.

use super::error::{InterpolationError, syntax_error};
use super::filter::Filter;
use super::piece::{Piece, Placeholder};
use crate::scanner::{CharScanner, is_name_character};
use crate::variable_path::with_brackets;

/// The most bytes of a template.
const MAX_BYTES: usize = 32 * 1024;

/// The most filters of a placeholder.
const MAX_FILTERS: usize = 16;

/// The most characters of a secret's name.
const MAX_NAME_LENGTH: usize = 64;

pub(super) fn parse_pieces(source: &str) -> Result<Vec<Piece>, InterpolationError> {
    if source.len() > MAX_BYTES {
        return Err(InterpolationError { code: "T006", message: "the template is longer than 32 KiB; split it".to_owned() });
    }
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut scan = CharScanner::new(source);
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
        pieces.push(parse_piece(&mut scan)?);
    }
    text.push_str(scan.rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

fn parse_piece(scan: &mut CharScanner<'_>) -> Result<Piece, InterpolationError> {
    let open = *scan;
    scan.eat("{{");
    if !scan.rest.contains("}}") {
        return Err(syntax_error(open.error_at("unterminated '{{'") + "; add '}}', or write '\\{{' for literal braces"));
    }
    scan.skip_space();
    let piece = match parse_secret(scan)? {
        Some(name) => Piece::Secret(name),
        None => {
            let path = scan.take_path().map_err(syntax_error)?;
            let mut filters = Vec::new();
            scan.skip_space();
            while scan.eat("|") {
                if filters.len() == MAX_FILTERS {
                    return Err(syntax_error(scan.error_at("more than 16 filters") + "; store the value in a variable first"));
                }
                scan.skip_space();
                filters.push(Filter::parse(scan)?);
                scan.skip_space();
            }
            Piece::Placeholder(Placeholder { path, filters })
        }
    };
    scan.skip_space();
    if scan.eat("}}") {
        return Ok(piece);
    }
    Err(syntax_error(match piece {
        Piece::Secret(_) => scan.unexpected_error("'}}', since a secret has neither members nor filters"),
        Piece::Placeholder(_) if let Some(path) = spelled_in_brackets(open) => {
            format!("{}; write {path}", scan.error_at("a name with '-' needs brackets"))
        }
        Piece::Placeholder(_) | Piece::Text(_) => scan.unexpected_error("'}}' or '|' and a filter; use a 'set' node to calculate"),
    }))
}

/// How the path of a placeholder is written when its names have a `-`.
fn spelled_in_brackets(open: CharScanner<'_>) -> Option<String> {
    let mut scan = open;
    scan.eat("{{");
    scan.skip_space();
    with_brackets(scan.take_while(|c| is_name_character(c) || c == '.' || c == '-'))
}

/// Parses the name of a secret after `secret.` or `secret:`.
fn parse_secret(scan: &mut CharScanner<'_>) -> Result<Option<String>, InterpolationError> {
    if !(scan.eat("secret.") || scan.eat("secret:")) {
        return Ok(None);
    }
    let start = *scan;
    let name = scan.take_name();
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(is_allowed) || name.len() > MAX_NAME_LENGTH {
        return Err(syntax_error(start.unexpected_error("the name of a secret in capital letters, such as API_KEY")));
    }
    Ok(Some(name.to_owned()))
}
