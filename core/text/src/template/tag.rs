//! Parses block tags: `[# th:if="…"]`, `[#th:block th:each="…"]`, `[# th:text="…"/]` and their closing tags.

use super::expression::LocatedExpr;
use super::layer::Layer;
use super::lexer::take_name;
use super::parse::{Grammar, parse_expression, unexpected_error};
use crate::scanner::CharScanner;

const BLOCK: &str = "th:block";
const KNOWN_ATTRIBUTES: &str = "th:each, th:if, th:unless, th:switch, th:case, th:with, th:text or th:utext";

/// The opening tag of a block.
#[derive(Debug)]
pub(super) struct Tag {
    /// The name that the closing tag must have; empty for `[# …]`.
    pub name: &'static str,
    pub line: usize,
    /// The layers of the attributes, the outermost first.
    pub layers: Vec<Layer>,
    /// Whether the tag is self-closing (`/]`).
    pub is_self_closing: bool,
}

/// Parses a tag from `[#` to its `]`.
pub(super) fn parse_tag(scan: &mut CharScanner<'_>, line: usize) -> Result<Tag, String> {
    scan.eat("[#");
    let name = parse_block_name(scan)?;
    let mut attributes: Vec<(&str, String)> = Vec::new();
    let closed = loop {
        scan.skip_space();
        if scan.eat("/]") {
            break true;
        }
        if scan.eat("]") {
            break false;
        }
        let (name, value) = parse_attribute(scan)?;
        if attributes.iter().any(|it| it.0 == name) {
            return Err(format!("a block tag has two attributes '{name}'; move one into a separate block"));
        }
        attributes.push((name, value));
    };
    if attributes.is_empty() && name.is_empty() {
        return Err(format!("a block tag has no attribute; add {KNOWN_ATTRIBUTES}"));
    }
    let mut layers = Vec::new();
    for (name, value) in &attributes {
        let read = add_layers(name, &repair(value), line, &mut layers);
        read.map_err(|reason| format!("{name}: '{}' {reason}", value.chars().take(80).collect::<String>()))?;
    }
    layers.sort_by_key(Layer::rank);
    Ok(Tag { name, line, layers, is_self_closing: closed })
}

/// Parses a closing tag and returns its name.
pub(super) fn parse_closing(scan: &mut CharScanner<'_>) -> Result<&'static str, String> {
    if scan.eat("[/]") {
        return Ok("");
    }
    if scan.eat("[/th:block]") { Ok(BLOCK) } else { Err("a closing tag has an unknown name; use [/] or [/th:block]".to_owned()) }
}

fn parse_block_name(scan: &mut CharScanner<'_>) -> Result<&'static str, String> {
    let mut ahead = *scan;
    let name = ahead.take_while(|c| c.is_alphanumeric() || c == ':' || c == '-');
    if name.is_empty() || ahead.peek() == Some('=') {
        return Ok("");
    }
    if name != BLOCK {
        return Err(format!("'{name}' is not a block tag; use [# …] or [#{BLOCK} …]"));
    }
    *scan = ahead;
    Ok(BLOCK)
}

fn parse_attribute<'s>(scan: &mut CharScanner<'s>) -> Result<(&'s str, String), String> {
    let name = scan.take_while(|c| c.is_alphanumeric() || c == ':' || c == '-');
    scan.skip_space();
    let has_equals = scan.eat("=");
    scan.skip_space();
    let quote = ["\"", "'"].into_iter().find(|it| scan.eat(it));
    let value = quote.and_then(|it| scan.take_until(it));
    match value {
        Some(value) if has_equals && !name.is_empty() => Ok((name, unescape_html(value))),
        Some(_) | None => Err("a block tag is incomplete; write [# th:if=\"${…}\"] and close the block with [/]".to_owned()),
    }
}

/// Resolves the HTML entities in the value of an attribute.
fn unescape_html(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    entities.into_iter().fold(value.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

// ConvEngine: `"{${` at the start of a value is a known typo for `"${`; pinned by the pack `template_known_slips`.
fn repair(value: &str) -> String {
    if value.starts_with("{${") { value.replacen('{', "", 1) } else { value.to_owned() }
}

fn add_layers(name: &str, value: &str, line: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
    let whole = |grammar| parse_whole(value, grammar, line);
    layers.push(match name {
        "th:if" => Layer::If { condition: whole(Grammar::Outer)?, expected: true },
        "th:unless" => Layer::If { condition: whole(Grammar::Outer)?, expected: false },
        "th:switch" => Layer::Switch(whole(Grammar::Outer)?),
        "th:case" if value.trim() == "*" => Layer::Case(None),
        "th:case" => Layer::Case(Some(whole(Grammar::OuterWords)?)),
        "th:text" => Layer::Text { value: whole(Grammar::OuterWords)?, escape: true },
        "th:utext" => Layer::Text { value: whole(Grammar::OuterWords)?, escape: false },
        "th:each" => parse_each(value, line)?,
        "th:with" => return parse_with(value, line, layers),
        _ => return Err(format!("is not a supported attribute; use {KNOWN_ATTRIBUTES}")),
    });
    Ok(())
}

fn parse_whole(value: &str, grammar: Grammar, line: usize) -> Result<LocatedExpr, String> {
    let mut scan = CharScanner::new(value);
    let root = parse_expression(&mut scan, grammar)?;
    if scan.rest.is_empty() { Ok(LocatedExpr { root, line }) } else { Err(unexpected_error(&scan)) }
}

fn parse_each(value: &str, line: usize) -> Result<Layer, String> {
    let invalid = || "is not a loop; write th:each=\"item : ${list}\"".to_owned();
    let mut scan = CharScanner::new(value);
    let item = parse_variable(&mut scan).ok_or_else(invalid)?;
    let state = if scan.eat(",") { parse_variable(&mut scan).ok_or_else(invalid)? } else { format!("{item}Stat") };
    if !scan.eat(":") {
        return Err(invalid());
    }
    Ok(Layer::Each { item, state, list: parse_whole(scan.rest, Grammar::Outer, line)? })
}

fn parse_with(value: &str, line: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
    let mut scan = CharScanner::new(value);
    loop {
        let name = parse_variable(&mut scan).filter(|_| scan.eat("="));
        let name = name.ok_or("has a value without a name; write th:with=\"a=${…},b=${…}\"")?;
        let root = parse_expression(&mut scan, Grammar::Outer)?;
        layers.push(Layer::With { name, value: LocatedExpr { root, line } });
        if scan.rest.is_empty() {
            return Ok(());
        }
        if !scan.eat(",") {
            return Err(unexpected_error(&scan));
        }
    }
}

fn parse_variable(scan: &mut CharScanner<'_>) -> Option<String> {
    scan.skip_space();
    let name = take_name(scan);
    scan.skip_space();
    (!name.is_empty()).then(|| name.to_owned())
}
