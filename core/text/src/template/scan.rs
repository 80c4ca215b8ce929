//! Splits a template into text, outputs and block tags.

use super::cursor::Cursor;
use super::expression::{LocatedExpr, TemplateExpr};
use super::parse::{Grammar, parse_expression, unexpected_error};
use super::tag::{Tag, parse_closing, parse_tag};

/// One piece of a template source.
#[derive(Debug)]
pub(super) enum TemplatePiece {
    Text(String),
    Output {
        expression: LocatedExpr,
        escape: bool,
    },
    Tag(Tag),
    /// The closing tag of a block, with its name.
    Close {
        name: &'static str,
        line: usize,
    },
}

/// A syntax for outputs.
struct OutputForm {
    open: &'static str,
    close: &'static str,
    grammar: Grammar,
    escape: bool,
}

const BRACES: OutputForm = OutputForm { open: "{{", close: "}}", grammar: Grammar::Inner, escape: false };
const HASH: OutputForm = OutputForm { open: "#{", close: "}", grammar: Grammar::Inner, escape: false };
const SHORT: OutputForm = OutputForm { open: "[${", close: "}]", grammar: Grammar::Inner, escape: false };
const RAW: OutputForm = OutputForm { open: "[(", close: ")]", grammar: Grammar::Outer, escape: false };
const ESCAPED: OutputForm = OutputForm { open: "[[", close: "]]", grammar: Grammar::Outer, escape: true };

/// The construct that starts at a position.
enum Opening {
    Form(&'static OutputForm, usize),
    Tag,
    Close,
}

/// Splits a template into its pieces.
///
/// # Errors
/// The syntax error of a piece, with its character or line.
pub(super) fn scan_pieces(source: &str) -> Result<Vec<TemplatePiece>, String> {
    let mut scanner = TemplateScanner { source, cursor: Cursor { rest: source }, line: 1, pieces: Vec::new() };
    while let Some((at, opening)) = next_opening(scanner.cursor.rest) {
        scanner.take_text(at);
        scanner.take_piece(opening)?;
    }
    let end = scanner.cursor.rest.len();
    scanner.take_text(end);
    Ok(scanner.pieces)
}

struct TemplateScanner<'s> {
    source: &'s str,
    cursor: Cursor<'s>,
    line: usize,
    pieces: Vec<TemplatePiece>,
}

impl<'s> TemplateScanner<'s> {
    fn take_text(&mut self, end: usize) {
        let (text, rest) = self.cursor.rest.split_at(end);
        self.cursor.rest = rest;
        self.line += count_lines(text);
        if !text.is_empty() {
            self.pieces.push(TemplatePiece::Text(text.to_owned()));
        }
    }

    fn take_piece(&mut self, opening: Opening) -> Result<(), String> {
        let start = self.cursor.rest;
        let line = self.line;
        let piece = match opening {
            Opening::Form(form, length) => {
                let root = self.parse_output(form, length)?;
                TemplatePiece::Output { expression: LocatedExpr { root, line }, escape: form.escape }
            }
            Opening::Tag => TemplatePiece::Tag(parse_tag(&mut self.cursor, line).map_err(|reason| format!("line {line}: {reason}"))?),
            Opening::Close => {
                TemplatePiece::Close { name: parse_closing(&mut self.cursor).map_err(|reason| format!("line {line}: {reason}"))?, line }
            }
        };
        let (taken, _) = start.split_at(start.len() - self.cursor.rest.len());
        self.line += count_lines(taken);
        self.pieces.push(piece);
        Ok(())
    }

    fn parse_output(&mut self, form: &OutputForm, length: usize) -> Result<TemplateExpr, String> {
        let start = self.cursor.rest.len();
        let (_, inside) = self.cursor.rest.split_at(length);
        self.cursor.rest = inside;
        let read = parse_expression(&mut self.cursor, form.grammar);
        let close = if form.open == ESCAPED.open { escaped_closer(&self.cursor) } else { form.close };
        match read {
            Ok(value) if eat_close(&mut self.cursor, close) => Ok(value),
            read => Err(self.output_error(form, inside, start, read.err())),
        }
    }

    fn output_error(&self, form: &OutputForm, inside: &str, start: usize, reason: Option<String>) -> String {
        let (open, close) = (form.open, form.close);
        let Some((inner, _)) = inside.split_once(close) else {
            let before = self.source.len() - start;
            let character = self.source.char_indices().take_while(|it| it.0 < before).count() + 1;
            return format!("unterminated '{open}' at character {character}; add '{close}'");
        };
        let written: String = inner.chars().take(80).collect();
        if inner.trim().is_empty() {
            return format!("'{open}{written}{close}' is empty; add an expression");
        }
        format!("'{open}{written}{close}' {}", reason.unwrap_or_else(|| unexpected_error(&self.cursor)))
    }
}

/// Returns the closing brackets of an escaped output; before the end of a block, the brace alone may close it.
fn escaped_closer(cursor: &Cursor<'_>) -> &'static str {
    if cursor.starts_with("][/]") { "]" } else { ESCAPED.close }
}

fn eat_close(cursor: &mut Cursor<'_>, close: &'static str) -> bool {
    if close != SHORT.close {
        return cursor.eat(close);
    }
    cursor.eat("}") && {
        cursor.skip_space();
        cursor.eat("]")
    }
}

fn count_lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn next_opening(text: &str) -> Option<(usize, Opening)> {
    let places = text.match_indices(['{', '#', '[']);
    places.filter_map(|(at, _)| Some((at, opening_at(Cursor { rest: text.get(at..)? })?))).next()
}

fn opening_at(mut cursor: Cursor<'_>) -> Option<Opening> {
    // The first of three braces or brackets in a row is text, and so is a number sign before two braces.
    let form = |form: &'static OutputForm, longer: &str| (!cursor.starts_with(longer)).then_some(Opening::Form(form, form.open.len()));
    if cursor.starts_with(BRACES.open) {
        return form(&BRACES, "{{{");
    }
    if cursor.starts_with(HASH.open) {
        return form(&HASH, "#{{");
    }
    if cursor.starts_with(RAW.open) {
        return Some(Opening::Form(&RAW, RAW.open.len()));
    }
    let length = cursor.rest.len();
    if cursor.eat(ESCAPED.open) {
        if cursor.starts_with("{${") {
            return Some(Opening::Form(&ESCAPED, ESCAPED.open.len() + 1));
        }
        cursor.skip_space();
        return has_expression(cursor.rest).then_some(Opening::Form(&ESCAPED, ESCAPED.open.len()));
    }
    if cursor.starts_with("[#") {
        return is_tag_start(cursor.rest.get(2..)?).then_some(Opening::Tag);
    }
    if cursor.starts_with("[/]") || cursor.starts_with("[/th:") {
        return Some(Opening::Close);
    }
    if cursor.eat("[") {
        cursor.skip_space();
        return cursor.eat("${").then_some(Opening::Form(&SHORT, length - cursor.rest.len()));
    }
    None
}

/// Returns whether doubled brackets contain an expression; those around JSON are text.
fn has_expression(inside: &str) -> bool {
    let json = ["true", "false", "null"].iter().any(|it| inside.starts_with(it));
    let link = ["@{", "*{", "~{"].iter().any(|it| inside.starts_with(it));
    link || !json && inside.starts_with(|c: char| c.is_alphabetic() || "$#|'".contains(c))
}

/// Returns whether `[#` starts a tag: white space, an attribute or an element name with attributes must follow.
fn is_tag_start(inside: &str) -> bool {
    let named = inside.find(|c: char| !(c.is_alphanumeric() || c == '-')).and_then(|at| inside.get(at..));
    let attributes = named.filter(|it| it.starts_with(char::is_whitespace)).is_some_and(|it| it.trim_start().starts_with("th:"));
    inside.starts_with(char::is_whitespace) || inside.starts_with("th:") || attributes
}
