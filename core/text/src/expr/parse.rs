//! Parses expressions.

use serde_json::{Number, Value};

use super::error::ExprError;
use super::functions::Function;
use super::tree::{ExprNode, LiteralPattern, Relation};
use crate::regex::Regex;
use crate::scanner::{CharScanner, is_name_character};
use crate::value::decimal::number_from_f64;
use crate::value::{Arithmetic, COMPARISON_SIGNS};
use crate::variable_path::PathPart;

/// The deepest nesting of parentheses, lists, calls and signs; deeper nesting is an error instead of a stack overflow.
const MAX_DEPTH: u32 = 64;

/// The most bytes of an expression.
const MAX_BYTES: usize = 32 * 1024;

/// Words that are operators and cannot be variables.
pub(super) const OPERATOR_WORDS: [&str; 9] = ["and", "or", "not", "in", "contains", "starts_with", "ends_with", "matches", "is"];

pub(super) fn parse_expression(source: &str) -> Result<ExprNode, ExprError> {
    if source.len() > MAX_BYTES {
        return Err(syntax_error("the expression is longer than 32 KiB; split it".to_owned()));
    }
    let mut reader = Parser { scan: CharScanner::new(source), depth: 0 };
    let node = reader.parse_conditional()?;
    reader.scan.skip_space();
    if !reader.scan.rest.is_empty() {
        return Err(reader.unexpected_error("an operator such as '==' or '&&', or the end of the expression"));
    }
    Ok(node)
}

/// Builds a syntax error (`E001`).
pub(super) fn syntax_error(message: String) -> ExprError {
    ExprError { code: "E001", message }
}

struct Parser<'s> {
    scan: CharScanner<'s>,
    depth: u32,
}

impl Parser<'_> {
    fn unexpected_error(&self, what: &str) -> ExprError {
        syntax_error(self.scan.unexpected_error(what))
    }

    /// Consumes a sign after white space.
    fn eat(&mut self, sign: &str) -> bool {
        self.scan.skip_space();
        self.scan.eat(sign)
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExprError> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected_error(&["'", sign, "'"].concat())) }
    }

    /// Consumes a whole word.
    fn eat_word(&mut self, word: &str) -> bool {
        self.scan.skip_space();
        let mut ahead = self.scan;
        let found = ahead.take_name() == word && !ahead.rest.starts_with('.');
        if found {
            self.scan = ahead;
        }
        found
    }

    fn parse_nested(&mut self, read: fn(&mut Self) -> Result<ExprNode, ExprError>) -> Result<ExprNode, ExprError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(syntax_error(self.scan.error_at("the expression nests too deeply") + "; split it"));
        }
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    /// `condition ? value : other`
    fn parse_conditional(&mut self) -> Result<ExprNode, ExprError> {
        let condition = self.parse_or()?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let value = self.parse_nested(Parser::parse_conditional)?;
        self.expect(":")?;
        let other = self.parse_nested(Parser::parse_conditional)?;
        Ok(ExprNode::Conditional(Box::new((condition, value, other))))
    }

    fn parse_or(&mut self) -> Result<ExprNode, ExprError> {
        self.parse_operands(["||", "or"], Parser::parse_and, ExprNode::Or)
    }

    fn parse_and(&mut self) -> Result<ExprNode, ExprError> {
        self.parse_operands(["&&", "and"], Parser::parse_not, ExprNode::And)
    }

    /// Parses one operand, or several between which an operator stands.
    fn parse_operands(
        &mut self,
        [sign, word]: [&str; 2],
        read: fn(&mut Self) -> Result<ExprNode, ExprError>,
        join: fn(Vec<ExprNode>) -> ExprNode,
    ) -> Result<ExprNode, ExprError> {
        let first = read(self)?;
        let mut rest = Vec::new();
        while self.eat(sign) || self.eat_word(word) {
            rest.push(read(self)?);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(join(rest))
    }

    fn parse_not(&mut self) -> Result<ExprNode, ExprError> {
        if self.eat_bang() || self.eat_word("not") {
            return self.parse_nested(Parser::parse_not).map(|node| ExprNode::Not(Box::new(node)));
        }
        self.parse_comparison()
    }

    fn eat_bang(&mut self) -> bool {
        self.scan.skip_space();
        !self.scan.rest.starts_with("!=") && self.scan.eat("!")
    }

    fn parse_comparison(&mut self) -> Result<ExprNode, ExprError> {
        let left = self.parse_sum()?;
        for (sign, comparison) in COMPARISON_SIGNS {
            if self.eat(sign) {
                let right = self.parse_sum()?;
                return Ok(ExprNode::Compare(Relation::Comparison(comparison), Box::new((left, right))));
            }
        }
        if self.scan.rest.starts_with('=') {
            return Err(self.unexpected_error("'==' to compare"));
        }
        if self.eat_word("is") {
            let not = self.eat_word("not");
            let test = if self.eat_word("set") {
                ExprNode::IsSet(Box::new(left))
            } else if self.eat_word("empty") {
                ExprNode::IsEmpty(Box::new(left))
            } else {
                return Err(self.unexpected_error("'set' or 'empty' after 'is', or '==' to compare"));
            };
            return Ok(negate_if(not, test));
        }
        let not = self.eat_word("not");
        let Some(relation) = self.eat_relation() else {
            return if not { Err(self.unexpected_error("'in', 'contains' or 'matches' after 'not'")) } else { Ok(left) };
        };
        let compared = match relation {
            WordRelation::In => ExprNode::Compare(Relation::Contains, Box::new((self.parse_sum()?, left))),
            WordRelation::Relation(Relation::Matches) => self.parse_matches(left)?,
            WordRelation::Relation(relation) => ExprNode::Compare(relation, Box::new((left, self.parse_sum()?))),
        };
        Ok(negate_if(not, compared))
    }

    fn eat_relation(&mut self) -> Option<WordRelation> {
        let relation = if self.eat_word("in") {
            return Some(WordRelation::In);
        } else if self.eat_word("contains") {
            Relation::Contains
        } else if self.eat_word("starts_with") {
            Relation::StartsWith
        } else if self.eat_word("ends_with") {
            Relation::EndsWith
        } else if self.eat_word("matches") {
            Relation::Matches
        } else {
            return None;
        };
        Some(WordRelation::Relation(relation))
    }

    fn parse_matches(&mut self, left: ExprNode) -> Result<ExprNode, ExprError> {
        self.scan.skip_space();
        let start = self.scan;
        let right = self.parse_sum()?;
        let ExprNode::Literal(Value::String(pattern)) = &right else {
            return Ok(ExprNode::Compare(Relation::Matches, Box::new((left, right))));
        };
        let regex = Regex::new_linear(pattern).map_err(|reason| {
            let message = start.error_at("invalid pattern") + ": " + &reason;
            ExprError { code: "E003", message }
        })?;
        Ok(ExprNode::Matches(Box::new(left), LiteralPattern(regex)))
    }

    fn parse_sum(&mut self) -> Result<ExprNode, ExprError> {
        self.parse_chain(&[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)], Parser::parse_product)
    }

    fn parse_product(&mut self) -> Result<ExprNode, ExprError> {
        self.parse_chain(&[("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)], Parser::parse_signed)
    }

    fn parse_chain(
        &mut self,
        signs: &[(&str, Arithmetic)],
        read: fn(&mut Self) -> Result<ExprNode, ExprError>,
    ) -> Result<ExprNode, ExprError> {
        let first = read(self)?;
        let mut rest = Vec::new();
        while let Some((_, operator)) = signs.iter().find(|it| self.eat(it.0)) {
            rest.push((*operator, read(self)?));
        }
        Ok(if rest.is_empty() { first } else { ExprNode::Calculate(Box::new(first), rest) })
    }

    fn parse_signed(&mut self) -> Result<ExprNode, ExprError> {
        if self.eat_bang() {
            return self.parse_nested(Parser::parse_signed).map(|node| ExprNode::Not(Box::new(node)));
        }
        if self.scan.rest.strip_prefix('-').is_some_and(|operand| !operand.starts_with(|c: char| c.is_ascii_digit())) {
            self.scan.eat("-");
            return self.parse_nested(Parser::parse_signed).map(|node| ExprNode::Negate(Box::new(node)));
        }
        self.parse_primary()
    }

    fn parse_primary(&mut self) -> Result<ExprNode, ExprError> {
        const EXPECTED_VALUE: &str = "a value: a variable, number, quoted string, list or function call";
        if self.eat("(") {
            let inner = self.parse_nested(Parser::parse_conditional)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.eat("[") {
            return self.parse_parts("]").map(list_node);
        }
        if let Some(value) = self.scan.take_literal().map_err(syntax_error)? {
            return Ok(ExprNode::Literal(normalize_number(value)));
        }
        let start = self.scan;
        let word = self.scan.take_name();
        let lone = !self.scan.rest.starts_with(['.', '[']);
        self.scan = start;
        if word.starts_with(|c: char| c.is_ascii_digit())
            || !start.rest.starts_with(is_name_character)
            || lone && OPERATOR_WORDS.contains(&word)
        {
            return Err(self.unexpected_error(EXPECTED_VALUE));
        }
        let path = self.scan.take_path().map_err(syntax_error)?;
        let end = self.scan;
        if !self.eat("(") {
            self.scan = end;
            if path.first_name() == "secret" && path.parts().len() > 1 {
                let message = start.error_at("secret") + " can be used in requests only; use a variable instead";
                return Err(ExprError { code: "E002", message });
            }
            return Ok(ExprNode::Path(path));
        }
        let function = if let [PathPart::Name(name)] = path.parts() { Function::from_name(name) } else { None };
        let Some((function, least, most)) = function else {
            let message = start.error_at(&["unknown function '", &path.to_string(), "'"].concat());
            return Err(ExprError { code: "E002", message: message + "; use one of " + &Function::names().join(", ") });
        };
        let arguments = self.parse_parts(")")?;
        if !(least..=most).contains(&arguments.len()) {
            let expected = match (least, most) {
                (1, 1) => "one argument",
                (2, 2) => "two arguments",
                (0, _) => "at most one argument",
                (1, 2) => "one or two arguments",
                _ => "at least one argument",
            };
            return Err(syntax_error(start.error_at(&["'", word, "'"].concat()) + " takes " + expected));
        }
        Ok(ExprNode::Call(function, arguments))
    }

    /// Parses comma-separated values up to the closing bracket.
    fn parse_parts(&mut self, close: &str) -> Result<Vec<ExprNode>, ExprError> {
        let mut parts = Vec::new();
        if self.eat(close) {
            return Ok(parts);
        }
        loop {
            parts.push(self.parse_nested(Parser::parse_conditional)?);
            if self.eat(close) {
                return Ok(parts);
            }
            if !self.eat(",") {
                return Err(self.unexpected_error(&["',' or '", close, "'"].concat()));
            }
        }
    }
}

/// A relation written as a word.
enum WordRelation {
    In,
    Relation(Relation),
}

fn negate_if(not: bool, node: ExprNode) -> ExprNode {
    if not { ExprNode::Not(Box::new(node)) } else { node }
}

/// Creates a list node; a list of literals is a literal.
fn list_node(parts: Vec<ExprNode>) -> ExprNode {
    let values: Option<Vec<Value>> =
        parts.iter().map(|part| if let ExprNode::Literal(value) = part { Some(value.clone()) } else { None }).collect();
    values.map_or(ExprNode::List(parts), |values| ExprNode::Literal(Value::Array(values)))
}

/// Converts a whole number that is written with a fraction to an integer.
fn normalize_number(value: Value) -> Value {
    match &value {
        Value::Number(number) if number.is_f64() => number.as_f64().and_then(number_from_f64).map_or(value, |it: Number| Value::Number(it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => value,
    }
}
