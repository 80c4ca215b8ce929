//! Parses expressions: the inner grammar of `${…}`, and the outer grammar around it, whose operands are `${…}`, `'text'`,
//! `|text ${…}|` and numbers.

use serde_json::Value;

use super::cursor::{Cursor, name_character};
use super::expression::{Chain, Choice, Expr, Fallback, OPERATORS, Operator, Part, Path, Root};
use super::function::{Method, Utility};

/// The deepest nesting of parentheses, conditions and blocks; well below what overflows any stack.
pub(super) const MAX_DEPTH: usize = 64;

/// The grammar of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    /// Inside `${…}`: names are variables.
    Inner,
    /// In attributes of tags and in doubled brackets.
    Outer,
    /// The outer grammar in which a bare word is a string.
    OuterWords,
}

/// Parses an expression at the start of a text; the cursor keeps the text after it.
pub(super) fn expression(cursor: &mut Cursor<'_>, grammar: Grammar) -> Result<Expr, String> {
    let mut parser = Parser { cursor: *cursor, grammar, depth: 0 };
    let read = parser.expression();
    parser.cursor.skip_space();
    *cursor = parser.cursor;
    read
}

/// Builds the error for text that does not belong to an expression.
pub(super) fn unexpected(cursor: &Cursor<'_>) -> String {
    let mut ahead = *cursor;
    let word = ahead.name();
    match (word.is_empty(), cursor.peek()) {
        (false, _) => format!("is not a path or an expression: '{word}' was not expected"),
        (true, Some(c)) => format!("is not a path or an expression: '{c}' was not expected"),
        (true, None) => "is not a path or an expression: it ends too early".to_owned(),
    }
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    grammar: Grammar,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn expression(&mut self) -> Result<Expr, String> {
        self.deeper(|it| {
            let first = it.operators(0)?;
            it.cursor.skip_space();
            if it.cursor.eat("?:") {
                let instead = it.expression()?;
                return Ok(Expr::Fallback(Box::new(Fallback { value: first, instead, blank: it.inner() })));
            }
            if it.cursor.eat("?") { it.choice(first) } else { Ok(first) }
        })
    }

    fn choice(&mut self, first: Expr) -> Result<Expr, String> {
        let condition = self.condition(first);
        let yes = self.expression()?;
        self.cursor.skip_space();
        let no = match self.cursor.eat(":") {
            true => self.expression()?,
            false if self.inner() => return Err("has a condition without ':'; write condition ? 'yes' : 'no'".to_owned()),
            false => Expr::Literal(Value::Null),
        };
        Ok(Expr::Choice(Box::new(Choice { condition, yes, no })))
    }

    fn operators(&mut self, least: usize) -> Result<Expr, String> {
        let mut left = self.unary()?;
        while let Some((operator, level)) = self.operator(least) {
            let mut right = self.operators(level + 1)?;
            if matches!(operator, Operator::And | Operator::Or) {
                (left, right) = (self.condition(left), self.condition(right));
            }
            left = chained(left, operator, level, right);
        }
        Ok(left)
    }

    fn operator(&mut self, least: usize) -> Option<(Operator, usize)> {
        self.cursor.skip_space();
        for (spelling, operator, level) in OPERATORS {
            let mut ahead = self.cursor;
            let word = spelling.starts_with(char::is_alphabetic);
            if if word { ahead.eat_word(spelling) } else { ahead.eat(spelling) } {
                if level < least {
                    return None;
                }
                self.cursor = ahead;
                return Some((operator, level));
            }
        }
        None
    }

    fn unary(&mut self) -> Result<Expr, String> {
        self.cursor.skip_space();
        if self.cursor.eat("!") || self.cursor.eat_word("not") {
            let value = self.deeper(Parser::unary)?;
            return Ok(Expr::Not(Box::new(self.condition(value))));
        }
        if self.cursor.eat("-") {
            return Ok(Expr::Negative(Box::new(self.deeper(Parser::unary)?)));
        }
        let root = self.operand()?;
        if self.inner() { self.path(root) } else { Ok(valued(root)) }
    }

    fn operand(&mut self) -> Result<Root, String> {
        let found = match self.cursor.peek() {
            Some('(') => self.parentheses()?,
            Some(quote @ '\'') => self.text(quote)?,
            Some(quote @ '"') if self.inner() => self.text(quote)?,
            Some(c) if c.is_ascii_digit() => Expr::Literal(self.cursor.number()?),
            Some('|') if !self.inner() => self.template_text()?,
            Some('$') if !self.inner() && self.cursor.eat("${") => self.dollar()?,
            Some('#') if self.inner() => self.utility()?,
            Some('@' | '*' | '~' | '#') => return Err("has a link, a bean or a message, which templates do not have; use ${…}".to_owned()),
            Some(c) if name_character(c) => return self.word(),
            Some(_) | None => return Err(unexpected(&self.cursor)),
        };
        Ok(Root::Value(found))
    }

    fn parentheses(&mut self) -> Result<Expr, String> {
        self.cursor.eat("(");
        let inner = self.expression()?;
        self.close(")")?;
        Ok(inner)
    }

    fn word(&mut self) -> Result<Root, String> {
        let before = self.cursor;
        let name = self.cursor.name();
        let literal = match name.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return self.named(before, name),
        };
        Ok(Root::Value(Expr::Literal(literal)))
    }

    fn named(&mut self, before: Cursor<'s>, name: &str) -> Result<Root, String> {
        match self.grammar {
            Grammar::Inner if name == "T" && self.cursor.starts("(") => {
                Err("is not a path or an expression: it names a type, which templates cannot do".to_owned())
            }
            Grammar::Inner if name == "new" && self.cursor.starts(" ") => {
                Err("is not a path or an expression: it makes an object, which templates cannot do".to_owned())
            }
            Grammar::Inner => Ok(Root::Name(name.to_owned())),
            Grammar::Outer => Err("is an expression without ${…}; put names into ${…} and text into '…'".to_owned()),
            Grammar::OuterWords => {
                self.cursor = before;
                let word = self.cursor.take_while(|c| name_character(c) || c == '-' || c == '.');
                Ok(Root::Value(Expr::Literal(Value::from(word))))
            }
        }
    }

    fn path(&mut self, root: Root) -> Result<Expr, String> {
        let mut parts = Vec::new();
        loop {
            self.cursor.skip_space();
            let safe = self.cursor.eat("?.");
            if safe || self.cursor.eat(".") {
                parts.push(self.member(safe)?);
            } else if self.cursor.eat("[") {
                parts.push(Part::Index(self.expression()?));
                self.close("]")?;
            } else if parts.is_empty() && matches!(root, Root::Value(_)) {
                return Ok(valued(root));
            } else {
                return Ok(Expr::Path(Box::new(Path { root, parts })));
            }
        }
    }

    fn member(&mut self, safe: bool) -> Result<Part, String> {
        self.cursor.skip_space();
        let name = self.cursor.name();
        if name.is_empty() {
            return Err(unexpected(&self.cursor));
        }
        if !self.cursor.eat("(") {
            return Ok(Part::Member(name.to_owned()));
        }
        let arguments = self.arguments()?;
        Ok(Part::Call { method: Method::named(name, arguments.len())?, arguments, safe })
    }

    fn utility(&mut self) -> Result<Expr, String> {
        self.cursor.eat("#");
        let group = self.cursor.name();
        let name = if self.cursor.eat(".") { self.cursor.name() } else { "" };
        let arguments = if self.cursor.eat("(") { self.arguments()? } else { Vec::new() };
        Ok(Expr::Utility(Utility::named(group, name, arguments.len())?, arguments))
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, String> {
        let mut arguments = Vec::new();
        self.cursor.skip_space();
        if self.cursor.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            self.cursor.skip_space();
            if !self.cursor.eat(",") {
                self.close(")")?;
                return Ok(arguments);
            }
        }
    }

    /// Parses the rest of `${…}`.
    fn dollar(&mut self) -> Result<Expr, String> {
        let outer = std::mem::replace(&mut self.grammar, Grammar::Inner);
        let value = self.expression();
        self.grammar = outer;
        let value = value?;
        self.close("}")?;
        Ok(value)
    }

    fn text(&mut self, quote: char) -> Result<Expr, String> {
        let text = self.cursor.quoted(quote).ok_or_else(|| format!("has a text that is not closed by {quote}"))?;
        if text.contains("__${") { self.pieces(&text, "__${", "__") } else { Ok(Expr::Literal(Value::from(text))) }
    }

    fn template_text(&mut self) -> Result<Expr, String> {
        self.cursor.eat("|");
        let text = self.cursor.until("|").ok_or("has a text that is not closed by |")?;
        self.pieces(text, "${", "")
    }

    // ConvEngine: the result of `__${…}__` is parsed as source. Here it is an ordinary value, because user input is never code; pinned
    // by the pack `template_expressions`.
    /// Parses text that contains `${…}`.
    fn pieces(&mut self, text: &str, open: &str, close: &str) -> Result<Expr, String> {
        let mut pieces = Vec::new();
        let mut inner = Parser { cursor: Cursor { rest: text }, grammar: Grammar::Outer, depth: self.depth };
        while let Some(before) = inner.cursor.until(open) {
            pieces.push(Expr::Literal(Value::from(before)));
            pieces.push(inner.deeper(Parser::dollar)?);
            if !inner.cursor.eat(close) {
                return Err(unexpected(&inner.cursor));
            }
        }
        pieces.push(Expr::Literal(Value::from(inner.cursor.rest)));
        Ok(Expr::Join(pieces))
    }

    fn inner(&self) -> bool {
        self.grammar == Grammar::Inner
    }

    /// Converts an operand to a condition: the outer grammar accepts every value, the inner one only booleans.
    fn condition(&self, value: Expr) -> Expr {
        if self.inner() { value } else { Expr::Truth(Box::new(value)) }
    }

    fn close(&mut self, close: &str) -> Result<(), String> {
        self.cursor.skip_space();
        if self.cursor.eat(close) { Ok(()) } else { Err(unexpected(&self.cursor)) }
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<Expr, String>) -> Result<Expr, String> {
        if self.depth >= MAX_DEPTH {
            return Err(format!("nests deeper than {MAX_DEPTH}; make it simpler"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

fn valued(root: Root) -> Expr {
    match root {
        Root::Value(value) => value,
        name @ Root::Name(_) => Expr::Path(Box::new(Path { root: name, parts: Vec::new() })),
    }
}

fn chained(mut left: Expr, operator: Operator, level: usize, right: Expr) -> Expr {
    if let Expr::Chain(chain) = &mut left
        && chain.level == level
    {
        chain.rest.push((operator, right));
        return left;
    }
    Expr::Chain(Box::new(Chain { level, first: left, rest: vec![(operator, right)] }))
}
