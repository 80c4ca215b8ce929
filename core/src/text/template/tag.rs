//! Parses block tags: `[# th:if="…"]`, `[#th:block th:each="…"]`, `[# th:text="…"/]` and their closing tags.

use super::block::Layer;
use super::cursor::Cursor;
use super::expression::Expression;
use super::parse::{Grammar, expression, unexpected};

const BLOCK: &str = "th:block";
const KNOWN: &str = "th:each, th:if, th:unless, th:switch, th:case, th:with, th:text or th:utext";

/// The opening tag of a block.
#[derive(Debug)]
pub(super) struct Tag {
    /// The name that the closing tag must have; empty for `[# …]`.
    pub name: &'static str,
    pub line: usize,
    /// The layers of the attributes, the outermost first.
    pub layers: Vec<Layer>,
    /// Whether the tag is self-closing (`/]`).
    pub closed: bool,
}

/// Parses a tag from `[#` to its `]`.
pub(super) fn tag(cursor: &mut Cursor<'_>, line: usize) -> Result<Tag, String> {
    cursor.eat("[#");
    let name = block_name(cursor)?;
    let mut attributes: Vec<(&str, String)> = Vec::new();
    let closed = loop {
        cursor.skip_space();
        if cursor.eat("/]") {
            break true;
        }
        if cursor.eat("]") {
            break false;
        }
        let (name, value) = attribute(cursor)?;
        if attributes.iter().any(|it| it.0 == name) {
            return Err(format!("a block tag has two attributes '{name}'; move one into a separate block"));
        }
        attributes.push((name, value));
    };
    if attributes.is_empty() && name.is_empty() {
        return Err(format!("a block tag has no attribute; add {KNOWN}"));
    }
    let mut layers = Vec::new();
    for (name, value) in &attributes {
        let read = add(name, &repaired(value), line, &mut layers);
        read.map_err(|reason| format!("{name}: '{}' {reason}", value.chars().take(80).collect::<String>()))?;
    }
    layers.sort_by_key(Layer::rank);
    Ok(Tag { name, line, layers, closed })
}

/// Parses a closing tag and returns its name.
pub(super) fn closing(cursor: &mut Cursor<'_>) -> Result<&'static str, String> {
    if cursor.eat("[/]") {
        return Ok("");
    }
    if cursor.eat("[/th:block]") { Ok(BLOCK) } else { Err("a closing tag has an unknown name; use [/] or [/th:block]".to_owned()) }
}

fn block_name(cursor: &mut Cursor<'_>) -> Result<&'static str, String> {
    let mut ahead = *cursor;
    let name = ahead.take_while(|c| c.is_alphanumeric() || c == ':' || c == '-');
    if name.is_empty() || ahead.peek() == Some('=') {
        return Ok("");
    }
    if name != BLOCK {
        return Err(format!("'{name}' is not a block tag; use [# …] or [#{BLOCK} …]"));
    }
    *cursor = ahead;
    Ok(BLOCK)
}

fn attribute<'s>(cursor: &mut Cursor<'s>) -> Result<(&'s str, String), String> {
    let name = cursor.take_while(|c| c.is_alphanumeric() || c == ':' || c == '-');
    cursor.skip_space();
    let has_equals = cursor.eat("=");
    cursor.skip_space();
    let quote = ["\"", "'"].into_iter().find(|it| cursor.eat(it));
    let value = quote.and_then(|it| cursor.until(it));
    match value {
        Some(value) if has_equals && !name.is_empty() => Ok((name, unescaped(value))),
        Some(_) | None => Err("a block tag is incomplete; write [# th:if=\"${…}\"] and close the block with [/]".to_owned()),
    }
}

/// Resolves the HTML entities in the value of an attribute.
fn unescaped(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    entities.into_iter().fold(value.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

// ConvEngine: `"{${` at the start of a value is a known typo for `"${`; pinned by the pack `template_known_slips`.
fn repaired(value: &str) -> String {
    if value.starts_with("{${") { value.replacen('{', "", 1) } else { value.to_owned() }
}

fn add(name: &str, value: &str, line: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
    let whole = |grammar| whole(value, grammar, line);
    layers.push(match name {
        "th:if" => Layer::If { condition: whole(Grammar::Outer)?, wanted: true },
        "th:unless" => Layer::If { condition: whole(Grammar::Outer)?, wanted: false },
        "th:switch" => Layer::Switch(whole(Grammar::Outer)?),
        "th:case" if value.trim() == "*" => Layer::Case(None),
        "th:case" => Layer::Case(Some(whole(Grammar::OuterWords)?)),
        "th:text" => Layer::Text { value: whole(Grammar::OuterWords)?, escape: true },
        "th:utext" => Layer::Text { value: whole(Grammar::OuterWords)?, escape: false },
        "th:each" => each(value, line)?,
        "th:with" => return with(value, line, layers),
        _ => return Err(format!("is not a supported attribute; use {KNOWN}")),
    });
    Ok(())
}

fn whole(value: &str, grammar: Grammar, line: usize) -> Result<Expression, String> {
    let mut cursor = Cursor { rest: value };
    let root = expression(&mut cursor, grammar)?;
    if cursor.rest.is_empty() { Ok(Expression { root, line }) } else { Err(unexpected(&cursor)) }
}

fn each(value: &str, line: usize) -> Result<Layer, String> {
    let invalid = || "is not a loop; write th:each=\"item : ${list}\"".to_owned();
    let mut cursor = Cursor { rest: value };
    let item = variable(&mut cursor).ok_or_else(invalid)?;
    let state = if cursor.eat(",") { variable(&mut cursor).ok_or_else(invalid)? } else { format!("{item}Stat") };
    if !cursor.eat(":") {
        return Err(invalid());
    }
    Ok(Layer::Each { item, state, list: whole(cursor.rest, Grammar::Outer, line)? })
}

fn with(value: &str, line: usize, layers: &mut Vec<Layer>) -> Result<(), String> {
    let mut cursor = Cursor { rest: value };
    loop {
        let name = variable(&mut cursor).filter(|_| cursor.eat("="));
        let name = name.ok_or("has a value without a name; write th:with=\"a=${…},b=${…}\"")?;
        let root = expression(&mut cursor, Grammar::Outer)?;
        layers.push(Layer::With { name, value: Expression { root, line } });
        if cursor.rest.is_empty() {
            return Ok(());
        }
        if !cursor.eat(",") {
            return Err(unexpected(&cursor));
        }
    }
}

fn variable(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.skip_space();
    let name = cursor.name();
    cursor.skip_space();
    (!name.is_empty()).then(|| name.to_owned())
}
