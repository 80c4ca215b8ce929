//! Parses expressions: the inner grammar of `${…}`, and the outer grammar around it, whose operands are `${…}`, `'text'`,
//! `|text ${…}|` and numbers.

use serde_json::Value;

use super::expression::{Chain, Choice, Fallback, PathExpr, PathRoot, PathStep, TemplateExpr};
use super::function::{Method, Utility};
use super::lexer::{eat_word, is_name_character, take_name, take_number, take_quoted};
use super::operator::{BinaryOperator, OPERATORS};
use crate::scanner::CharScanner;

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

/// Parses an expression at the start of a text; the scanner keeps the text after it.
pub(super) fn parse_expression(scan: &mut CharScanner<'_>, grammar: Grammar) -> Result<TemplateExpr, String> {
    let mut parser = Parser { scan: *scan, grammar, depth: 0 };
    let read = parser.parse_expression();
    parser.scan.skip_space();
    *scan = parser.scan;
    read
}

/// Builds the error for text that does not belong to an expression.
pub(super) fn unexpected_error(scan: &CharScanner<'_>) -> String {
    let mut ahead = *scan;
    let word = take_name(&mut ahead);
    match (word.is_empty(), scan.peek()) {
        (false, _) => format!("is not a path or an expression: '{word}' was not expected"),
        (true, Some(c)) => format!("is not a path or an expression: '{c}' was not expected"),
        (true, None) => "is not a path or an expression: it ends too early".to_owned(),
    }
}

struct Parser<'s> {
    scan: CharScanner<'s>,
    grammar: Grammar,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn parse_expression(&mut self) -> Result<TemplateExpr, String> {
        self.with_depth(|parser| {
            let first = parser.parse_operators(0)?;
            parser.scan.skip_space();
            if parser.scan.eat("?:") {
                let instead = parser.parse_expression()?;
                return Ok(TemplateExpr::Fallback(Box::new(Fallback {
                    value: first,
                    fallback: instead,
                    replaces_blank: parser.is_inner(),
                })));
            }
            if parser.scan.eat("?") { parser.parse_conditional(first) } else { Ok(first) }
        })
    }

    fn parse_conditional(&mut self, first: TemplateExpr) -> Result<TemplateExpr, String> {
        let condition = self.to_condition(first);
        let yes = self.parse_expression()?;
        self.scan.skip_space();
        let no = match self.scan.eat(":") {
            true => self.parse_expression()?,
            false if self.is_inner() => return Err("has a condition without ':'; write condition ? 'yes' : 'no'".to_owned()),
            false => TemplateExpr::Literal(Value::Null),
        };
        Ok(TemplateExpr::Choice(Box::new(Choice { condition, yes, no })))
    }

    fn parse_operators(&mut self, least: usize) -> Result<TemplateExpr, String> {
        let mut left = self.parse_unary()?;
        while let Some((operator, level)) = self.eat_operator(least) {
            let mut right = self.parse_operators(level + 1)?;
            if matches!(operator, BinaryOperator::And | BinaryOperator::Or) {
                (left, right) = (self.to_condition(left), self.to_condition(right));
            }
            left = extend_chain(left, operator, level, right);
        }
        Ok(left)
    }

    fn eat_operator(&mut self, least: usize) -> Option<(BinaryOperator, usize)> {
        self.scan.skip_space();
        for (spelling, operator, level) in OPERATORS {
            let mut ahead = self.scan;
            let word = spelling.starts_with(char::is_alphabetic);
            if if word { eat_word(&mut ahead, spelling) } else { ahead.eat(spelling) } {
                if level < least {
                    return None;
                }
                self.scan = ahead;
                return Some((operator, level));
            }
        }
        None
    }

    fn parse_unary(&mut self) -> Result<TemplateExpr, String> {
        self.scan.skip_space();
        if self.scan.eat("!") || eat_word(&mut self.scan, "not") {
            let value = self.with_depth(Parser::parse_unary)?;
            return Ok(TemplateExpr::Not(Box::new(self.to_condition(value))));
        }
        if self.scan.eat("-") {
            return Ok(TemplateExpr::Negative(Box::new(self.with_depth(Parser::parse_unary)?)));
        }
        let root = self.parse_operand()?;
        if self.is_inner() { self.parse_path(root) } else { Ok(root_expr(root)) }
    }

    fn parse_operand(&mut self) -> Result<PathRoot, String> {
        let found = match self.scan.peek() {
            Some('(') => self.parse_parentheses()?,
            Some('\'') => self.parse_text("'")?,
            Some('"') if self.is_inner() => self.parse_text("\"")?,
            Some(c) if c.is_ascii_digit() => TemplateExpr::Literal(take_number(&mut self.scan)?),
            Some('|') if !self.is_inner() => self.parse_template_text()?,
            Some('$') if !self.is_inner() && self.scan.eat("${") => self.parse_dollar()?,
            Some('#') if self.is_inner() => self.parse_utility()?,
            Some('@' | '*' | '~' | '#') => return Err("has a link, a bean or a message, which templates do not have; use ${…}".to_owned()),
            Some(c) if is_name_character(c) => return self.parse_word(),
            Some(_) | None => return Err(unexpected_error(&self.scan)),
        };
        Ok(PathRoot::Value(found))
    }

    fn parse_parentheses(&mut self) -> Result<TemplateExpr, String> {
        self.scan.eat("(");
        let inner = self.parse_expression()?;
        self.expect_close(")")?;
        Ok(inner)
    }

    fn parse_word(&mut self) -> Result<PathRoot, String> {
        let before = self.scan;
        let name = take_name(&mut self.scan);
        let literal = match name.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return self.resolve_name(before, name),
        };
        Ok(PathRoot::Value(TemplateExpr::Literal(literal)))
    }

    fn resolve_name(&mut self, before: CharScanner<'s>, name: &str) -> Result<PathRoot, String> {
        match self.grammar {
            Grammar::Inner if name == "T" && self.scan.rest.starts_with("(") => {
                Err("is not a path or an expression: it names a type, which templates cannot do".to_owned())
            }
            Grammar::Inner if name == "new" && self.scan.rest.starts_with(" ") => {
                Err("is not a path or an expression: it makes an object, which templates cannot do".to_owned())
            }
            Grammar::Inner => Ok(PathRoot::Name(name.to_owned())),
            Grammar::Outer => Err("is an expression without ${…}; put names into ${…} and text into '…'".to_owned()),
            Grammar::OuterWords => {
                self.scan = before;
                let word = self.scan.take_while(|c| is_name_character(c) || c == '-' || c == '.');
                Ok(PathRoot::Value(TemplateExpr::Literal(Value::from(word))))
            }
        }
    }

    fn parse_path(&mut self, root: PathRoot) -> Result<TemplateExpr, String> {
        let mut parts = Vec::new();
        loop {
            self.scan.skip_space();
            let safe = self.scan.eat("?.");
            if safe || self.scan.eat(".") {
                parts.push(self.parse_member(safe)?);
            } else if self.scan.eat("[") {
                parts.push(PathStep::Index(self.parse_expression()?));
                self.expect_close("]")?;
            } else if parts.is_empty() && matches!(root, PathRoot::Value(_)) {
                return Ok(root_expr(root));
            } else {
                return Ok(TemplateExpr::Path(Box::new(PathExpr { root, steps: parts })));
            }
        }
    }

    fn parse_member(&mut self, safe: bool) -> Result<PathStep, String> {
        self.scan.skip_space();
        let name = take_name(&mut self.scan);
        if name.is_empty() {
            return Err(unexpected_error(&self.scan));
        }
        if !self.scan.eat("(") {
            return Ok(PathStep::Member(name.to_owned()));
        }
        let arguments = self.parse_arguments()?;
        Ok(PathStep::Call { method: Method::from_name(name, arguments.len())?, arguments, safe })
    }

    fn parse_utility(&mut self) -> Result<TemplateExpr, String> {
        self.scan.eat("#");
        let group = take_name(&mut self.scan);
        let name = if self.scan.eat(".") { take_name(&mut self.scan) } else { "" };
        let arguments = if self.scan.eat("(") { self.parse_arguments()? } else { Vec::new() };
        Ok(TemplateExpr::Utility(Utility::from_name(group, name, arguments.len())?, arguments))
    }

    fn parse_arguments(&mut self) -> Result<Vec<TemplateExpr>, String> {
        let mut arguments = Vec::new();
        self.scan.skip_space();
        if self.scan.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.parse_expression()?);
            self.scan.skip_space();
            if !self.scan.eat(",") {
                self.expect_close(")")?;
                return Ok(arguments);
            }
        }
    }

    /// Parses the rest of `${…}`.
    fn parse_dollar(&mut self) -> Result<TemplateExpr, String> {
        let outer = std::mem::replace(&mut self.grammar, Grammar::Inner);
        let value = self.parse_expression();
        self.grammar = outer;
        let value = value?;
        self.expect_close("}")?;
        Ok(value)
    }

    fn parse_text(&mut self, quote: &str) -> Result<TemplateExpr, String> {
        let text = take_quoted(&mut self.scan, quote).ok_or_else(|| format!("has an unterminated string: missing {quote}"))?;
        if text.contains("__${") { self.parse_pieces(&text, "__${", "__") } else { Ok(TemplateExpr::Literal(Value::from(text))) }
    }

    fn parse_template_text(&mut self) -> Result<TemplateExpr, String> {
        self.scan.eat("|");
        let text = self.scan.take_until("|").ok_or("has an unterminated string: missing |")?;
        self.parse_pieces(text, "${", "")
    }

    // ConvEngine: the result of `__${…}__` is parsed as source. Here it is an ordinary value, because user input is never code; pinned
    // by the pack `template_expressions`.
    /// Parses text that contains `${…}`.
    fn parse_pieces(&mut self, text: &str, open: &str, close: &str) -> Result<TemplateExpr, String> {
        let mut pieces = Vec::new();
        let mut inner = Parser { scan: CharScanner::new(text), grammar: Grammar::Outer, depth: self.depth };
        while let Some(before) = inner.scan.take_until(open) {
            pieces.push(TemplateExpr::Literal(Value::from(before)));
            pieces.push(inner.with_depth(Parser::parse_dollar)?);
            if !inner.scan.eat(close) {
                return Err(unexpected_error(&inner.scan));
            }
        }
        pieces.push(TemplateExpr::Literal(Value::from(inner.scan.rest)));
        Ok(TemplateExpr::Join(pieces))
    }

    fn is_inner(&self) -> bool {
        self.grammar == Grammar::Inner
    }

    /// Converts an operand to a condition: the outer grammar accepts every value, the inner one only booleans.
    fn to_condition(&self, value: TemplateExpr) -> TemplateExpr {
        if self.is_inner() { value } else { TemplateExpr::Truth(Box::new(value)) }
    }

    fn expect_close(&mut self, close: &str) -> Result<(), String> {
        self.scan.skip_space();
        if self.scan.eat(close) { Ok(()) } else { Err(unexpected_error(&self.scan)) }
    }

    fn with_depth(&mut self, read: impl FnOnce(&mut Self) -> Result<TemplateExpr, String>) -> Result<TemplateExpr, String> {
        if self.depth >= MAX_DEPTH {
            return Err(format!("nests deeper than {MAX_DEPTH}; make it simpler"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

fn root_expr(root: PathRoot) -> TemplateExpr {
    match root {
        PathRoot::Value(value) => value,
        name @ PathRoot::Name(_) => TemplateExpr::Path(Box::new(PathExpr { root: name, steps: Vec::new() })),
    }
}

fn extend_chain(mut left: TemplateExpr, operator: BinaryOperator, level: usize, right: TemplateExpr) -> TemplateExpr {
    if let TemplateExpr::Chain(chain) = &mut left
        && chain.level == level
    {
        chain.rest.push((operator, right));
        return left;
    }
    TemplateExpr::Chain(Box::new(Chain { level, first: left, rest: vec![(operator, right)] }))
}
