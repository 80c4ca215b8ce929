//! Splits a template into text, outputs and block tags.

use super::cursor::Cursor;
use super::expression::{Expr, Expression};
use super::parse::{Grammar, expression, unexpected};
use super::tag::{Tag, closing, tag};

/// One piece of a template source.
#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    Output {
        expression: Expression,
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
struct Form {
    open: &'static str,
    close: &'static str,
    grammar: Grammar,
    escape: bool,
}

const BRACES: Form = Form { open: "{{", close: "}}", grammar: Grammar::Inner, escape: false };
const HASH: Form = Form { open: "#{", close: "}", grammar: Grammar::Inner, escape: false };
const SHORT: Form = Form { open: "[${", close: "}]", grammar: Grammar::Inner, escape: false };
const RAW: Form = Form { open: "[(", close: ")]", grammar: Grammar::Outer, escape: false };
const ESCAPED: Form = Form { open: "[[", close: "]]", grammar: Grammar::Outer, escape: true };

/// The construct that starts at a position.
enum Opening {
    Form(&'static Form, usize),
    Tag,
    Close,
}

/// Splits a template into its pieces.
///
/// # Errors
/// The syntax error of a piece, with its character or line.
pub(super) fn pieces(source: &str) -> Result<Vec<Piece>, String> {
    let mut scanner = Scanner { source, cursor: Cursor { rest: source }, line: 1, pieces: Vec::new() };
    while let Some((at, opening)) = next(scanner.cursor.rest) {
        scanner.text(at);
        scanner.piece(opening)?;
    }
    let end = scanner.cursor.rest.len();
    scanner.text(end);
    Ok(scanner.pieces)
}

struct Scanner<'s> {
    source: &'s str,
    cursor: Cursor<'s>,
    line: usize,
    pieces: Vec<Piece>,
}

impl<'s> Scanner<'s> {
    fn text(&mut self, end: usize) {
        let (text, rest) = self.cursor.rest.split_at(end);
        self.cursor.rest = rest;
        self.line += lines(text);
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    fn piece(&mut self, opening: Opening) -> Result<(), String> {
        let start = self.cursor.rest;
        let line = self.line;
        let piece = match opening {
            Opening::Form(form, length) => {
                let root = self.output(form, length)?;
                Piece::Output { expression: Expression { root, line }, escape: form.escape }
            }
            Opening::Tag => Piece::Tag(tag(&mut self.cursor, line).map_err(|reason| format!("line {line}: {reason}"))?),
            Opening::Close => Piece::Close { name: closing(&mut self.cursor).map_err(|reason| format!("line {line}: {reason}"))?, line },
        };
        let (taken, _) = start.split_at(start.len() - self.cursor.rest.len());
        self.line += lines(taken);
        self.pieces.push(piece);
        Ok(())
    }

    fn output(&mut self, form: &Form, length: usize) -> Result<Expr, String> {
        let start = self.cursor.rest.len();
        let (_, inside) = self.cursor.rest.split_at(length);
        self.cursor.rest = inside;
        let read = expression(&mut self.cursor, form.grammar);
        let close = if form.open == ESCAPED.open { escaped_close(&self.cursor) } else { form.close };
        match read {
            Ok(value) if closed(&mut self.cursor, close) => Ok(value),
            read => Err(self.refused(form, inside, start, read.err())),
        }
    }

    fn refused(&self, form: &Form, inside: &str, start: usize, reason: Option<String>) -> String {
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
        format!("'{open}{written}{close}' {}", reason.unwrap_or_else(|| unexpected(&self.cursor)))
    }
}

/// Returns the closing brackets of an escaped output; before the end of a block, the brace alone may close it.
fn escaped_close(cursor: &Cursor<'_>) -> &'static str {
    if cursor.starts("][/]") { "]" } else { ESCAPED.close }
}

fn closed(cursor: &mut Cursor<'_>, close: &'static str) -> bool {
    if close != SHORT.close {
        return cursor.eat(close);
    }
    cursor.eat("}") && {
        cursor.skip_space();
        cursor.eat("]")
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn next(text: &str) -> Option<(usize, Opening)> {
    let places = text.match_indices(['{', '#', '[']);
    places.filter_map(|(at, _)| Some((at, opening(Cursor { rest: text.get(at..)? })?))).next()
}

fn opening(mut cursor: Cursor<'_>) -> Option<Opening> {
    // The first of three braces or brackets in a row is text, and so is a number sign before two braces.
    let form = |form: &'static Form, longer: &str| (!cursor.starts(longer)).then_some(Opening::Form(form, form.open.len()));
    if cursor.starts(BRACES.open) {
        return form(&BRACES, "{{{");
    }
    if cursor.starts(HASH.open) {
        return form(&HASH, "#{{");
    }
    if cursor.starts(RAW.open) {
        return Some(Opening::Form(&RAW, RAW.open.len()));
    }
    let length = cursor.rest.len();
    if cursor.eat(ESCAPED.open) {
        if cursor.starts("{${") {
            return Some(Opening::Form(&ESCAPED, ESCAPED.open.len() + 1));
        }
        cursor.skip_space();
        return holds_expression(cursor.rest).then_some(Opening::Form(&ESCAPED, ESCAPED.open.len()));
    }
    if cursor.starts("[#") {
        return opens_tag(cursor.rest.get(2..)?).then_some(Opening::Tag);
    }
    if cursor.starts("[/]") || cursor.starts("[/th:") {
        return Some(Opening::Close);
    }
    if cursor.eat("[") {
        cursor.skip_space();
        return cursor.eat("${").then_some(Opening::Form(&SHORT, length - cursor.rest.len()));
    }
    None
}

/// Returns whether doubled brackets contain an expression; those around JSON are text.
fn holds_expression(inside: &str) -> bool {
    let json = ["true", "false", "null"].iter().any(|it| inside.starts_with(it));
    let link = ["@{", "*{", "~{"].iter().any(|it| inside.starts_with(it));
    link || !json && inside.starts_with(|c: char| c.is_alphabetic() || "$#|'".contains(c))
}

/// Returns whether `[#` starts a tag: white space, an attribute or an element name with attributes must follow.
fn opens_tag(inside: &str) -> bool {
    let named = inside.find(|c: char| !(c.is_alphanumeric() || c == '-')).and_then(|at| inside.get(at..));
    let attributes = named.filter(|it| it.starts_with(char::is_whitespace)).is_some_and(|it| it.trim_start().starts_with("th:"));
    inside.starts_with(char::is_whitespace) || inside.starts_with("th:") || attributes
}
