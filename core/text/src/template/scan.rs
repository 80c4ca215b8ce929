//! Splits a template into text, outputs and block tags.

use super::expression::{LocatedExpr, TemplateExpr};
use super::parse::{Grammar, parse_expression, unexpected_error};
use super::tag::{Tag, parse_closing, parse_tag};
use crate::scanner::CharScanner;

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
    let mut scanner = TemplateScanner { scan: CharScanner::new(source), line: 1, pieces: Vec::new() };
    while let Some((at, opening)) = next_opening(scanner.scan.rest) {
        scanner.take_text(at);
        scanner.take_piece(opening)?;
    }
    let end = scanner.scan.rest.len();
    scanner.take_text(end);
    Ok(scanner.pieces)
}

struct TemplateScanner<'s> {
    scan: CharScanner<'s>,
    line: usize,
    pieces: Vec<TemplatePiece>,
}

impl<'s> TemplateScanner<'s> {
    fn take_text(&mut self, end: usize) {
        let (text, rest) = self.scan.rest.split_at(end);
        self.scan.rest = rest;
        self.line += count_lines(text);
        if !text.is_empty() {
            self.pieces.push(TemplatePiece::Text(text.to_owned()));
        }
    }

    fn take_piece(&mut self, opening: Opening) -> Result<(), String> {
        let (start, line) = (self.scan, self.line);
        let piece = match opening {
            Opening::Form(form, length) => {
                let root = self.parse_output(form, length)?;
                TemplatePiece::Output { expression: LocatedExpr { root, line }, escape: form.escape }
            }
            Opening::Tag => TemplatePiece::Tag(parse_tag(&mut self.scan, line).map_err(|reason| format!("line {line}: {reason}"))?),
            Opening::Close => {
                TemplatePiece::Close { name: parse_closing(&mut self.scan).map_err(|reason| format!("line {line}: {reason}"))?, line }
            }
        };
        self.line += count_lines(self.scan.taken_since(start));
        self.pieces.push(piece);
        Ok(())
    }

    fn parse_output(&mut self, form: &OutputForm, length: usize) -> Result<TemplateExpr, String> {
        let start = self.scan;
        let (_, inside) = start.rest.split_at(length);
        self.scan.rest = inside;
        let read = parse_expression(&mut self.scan, form.grammar);
        let close = if form.open == ESCAPED.open { escaped_closer(&self.scan) } else { form.close };
        match read {
            Ok(value) if eat_close(&mut self.scan, close) => Ok(value),
            read => Err(self.output_error(form, inside, start, read.err())),
        }
    }

    fn output_error(&self, form: &OutputForm, inside: &str, start: CharScanner<'_>, reason: Option<String>) -> String {
        let (open, close) = (form.open, form.close);
        let Some((inner, _)) = inside.split_once(close) else {
            return format!("unterminated '{open}' at character {}; add '{close}'", start.position());
        };
        let written: String = inner.chars().take(80).collect();
        if inner.trim().is_empty() {
            return format!("'{open}{written}{close}' is empty; add an expression");
        }
        format!("'{open}{written}{close}' {}", reason.unwrap_or_else(|| unexpected_error(&self.scan)))
    }
}

/// Returns the closing brackets of an escaped output; before the end of a block, the brace alone may close it.
fn escaped_closer(scan: &CharScanner<'_>) -> &'static str {
    if scan.rest.starts_with("][/]") { "]" } else { ESCAPED.close }
}

fn eat_close(scan: &mut CharScanner<'_>, close: &'static str) -> bool {
    if close != SHORT.close {
        return scan.eat(close);
    }
    scan.eat("}") && {
        scan.skip_space();
        scan.eat("]")
    }
}

fn count_lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn next_opening(text: &str) -> Option<(usize, Opening)> {
    let places = text.match_indices(['{', '#', '[']);
    places.filter_map(|(at, _)| Some((at, opening_at(CharScanner::at(text, at))?))).next()
}

fn opening_at(mut scan: CharScanner<'_>) -> Option<Opening> {
    // The first of three braces or brackets in a row is text, and so is a number sign before two braces.
    let form = |form: &'static OutputForm, longer: &str| (!scan.rest.starts_with(longer)).then_some(Opening::Form(form, form.open.len()));
    if scan.rest.starts_with(BRACES.open) {
        return form(&BRACES, "{{{");
    }
    if scan.rest.starts_with(HASH.open) {
        return form(&HASH, "#{{");
    }
    if scan.rest.starts_with(RAW.open) {
        return Some(Opening::Form(&RAW, RAW.open.len()));
    }
    let length = scan.rest.len();
    if scan.eat(ESCAPED.open) {
        if scan.rest.starts_with("{${") {
            return Some(Opening::Form(&ESCAPED, ESCAPED.open.len() + 1));
        }
        scan.skip_space();
        return has_expression(scan.rest).then_some(Opening::Form(&ESCAPED, ESCAPED.open.len()));
    }
    if scan.rest.starts_with("[#") {
        return is_tag_start(scan.rest.get(2..)?).then_some(Opening::Tag);
    }
    if scan.rest.starts_with("[/]") || scan.rest.starts_with("[/th:") {
        return Some(Opening::Close);
    }
    if scan.eat("[") {
        scan.skip_space();
        return scan.eat("${").then_some(Opening::Form(&SHORT, length - scan.rest.len()));
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
    let attributes = named.filter(|it| it.starts_with(char::is_whitespace)).is_some_and(|rest| rest.trim_start().starts_with("th:"));
    inside.starts_with(char::is_whitespace) || inside.starts_with("th:") || attributes
}
