//! Parses expressions.

use serde_json::{Number, Value};

use super::Wrong;
use super::functions::Function;
use super::tree::{Arithmetic, Node, Pattern, Relation};
use crate::text::path::Part;
use crate::text::regex::Regex;
use crate::text::scan::{Scan, name_character};

/// The deepest nesting of parentheses, lists, calls and signs; deeper nesting is an error instead of a stack overflow.
const DEPTH: u32 = 64;

/// The most bytes of an expression.
const MOST_BYTES: usize = 32 * 1024;

/// Words that are operators and cannot be variables.
pub(super) const WORDS: [&str; 9] = ["and", "or", "not", "in", "contains", "starts_with", "ends_with", "matches", "is"];

/// The comparison operators; longer signs come before their prefixes.
const SIGNS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::NotEqual),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

pub(super) fn expression(source: &str) -> Result<Node, Wrong> {
    if source.len() > MOST_BYTES {
        return Err(bad("the expression is longer than 32 KiB; split it".to_owned()));
    }
    let mut reader = Reader { scan: Scan::new(source), depth: 0 };
    let node = reader.choice()?;
    reader.scan.space();
    if !reader.scan.rest.is_empty() {
        return Err(reader.expected("an operator such as '==' or '&&', or the end of the expression"));
    }
    Ok(node)
}

/// Builds a syntax error (`E001`).
pub(super) fn bad(message: String) -> Wrong {
    Wrong { code: "E001", message }
}

struct Reader<'s> {
    scan: Scan<'s>,
    depth: u32,
}

impl Reader<'_> {
    fn expected(&self, what: &str) -> Wrong {
        bad(self.scan.expected(what))
    }

    /// Consumes a sign after white space.
    fn eat(&mut self, sign: &str) -> bool {
        self.scan.space();
        self.scan.eat(sign)
    }

    fn need(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.eat(sign) { Ok(()) } else { Err(self.expected(&["'", sign, "'"].concat())) }
    }

    /// Consumes a whole word.
    fn word(&mut self, word: &str) -> bool {
        self.scan.space();
        let mut ahead = self.scan;
        let found = ahead.name() == word && !ahead.rest.starts_with('.');
        if found {
            self.scan = ahead;
        }
        found
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Node, Wrong>) -> Result<Node, Wrong> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(bad(self.scan.wrong("the expression nests too deeply") + "; split it"));
        }
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    /// `condition ? value : other`
    fn choice(&mut self) -> Result<Node, Wrong> {
        let condition = self.either()?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let value = self.nested(Reader::choice)?;
        self.need(":")?;
        let other = self.nested(Reader::choice)?;
        Ok(Node::Choose(Box::new((condition, value, other))))
    }

    fn either(&mut self) -> Result<Node, Wrong> {
        let mut first = self.both()?;
        let mut more = Vec::new();
        while self.eat("||") || self.word("or") {
            more.push(self.both()?);
        }
        if !more.is_empty() {
            more.insert(0, first);
            first = Node::Some(more);
        }
        Ok(first)
    }

    fn both(&mut self) -> Result<Node, Wrong> {
        let mut first = self.negation()?;
        let mut more = Vec::new();
        while self.eat("&&") || self.word("and") {
            more.push(self.negation()?);
        }
        if !more.is_empty() {
            more.insert(0, first);
            first = Node::Every(more);
        }
        Ok(first)
    }

    fn negation(&mut self) -> Result<Node, Wrong> {
        if self.bang() || self.word("not") {
            return self.nested(Reader::negation).map(|it| Node::Not(Box::new(it)));
        }
        self.comparison()
    }

    fn bang(&mut self) -> bool {
        self.scan.space();
        !self.scan.rest.starts_with("!=") && self.scan.eat("!")
    }

    fn comparison(&mut self) -> Result<Node, Wrong> {
        let left = self.sum()?;
        for (sign, relation) in SIGNS {
            if self.eat(sign) {
                let right = self.sum()?;
                return Ok(Node::Compare(relation, Box::new((left, right))));
            }
        }
        if self.scan.rest.starts_with('=') {
            return Err(self.expected("'==' to compare"));
        }
        if self.word("is") {
            let not = self.word("not");
            let test = if self.word("set") {
                Node::IsSet(Box::new(left))
            } else if self.word("empty") {
                Node::IsEmpty(Box::new(left))
            } else {
                return Err(self.expected("'set' or 'empty' after 'is', or '==' to compare"));
            };
            return Ok(negated(not, test));
        }
        let not = self.word("not");
        let Some(relation) = self.relation() else {
            return if not { Err(self.expected("'in', 'contains' or 'matches' after 'not'")) } else { Ok(left) };
        };
        let compared = match relation {
            Named::In => Node::Compare(Relation::Contains, Box::new((self.sum()?, left))),
            Named::Relation(Relation::Matches) => self.matches(left)?,
            Named::Relation(relation) => Node::Compare(relation, Box::new((left, self.sum()?))),
        };
        Ok(negated(not, compared))
    }

    fn relation(&mut self) -> Option<Named> {
        let relation = if self.word("in") {
            return Some(Named::In);
        } else if self.word("contains") {
            Relation::Contains
        } else if self.word("starts_with") {
            Relation::StartsWith
        } else if self.word("ends_with") {
            Relation::EndsWith
        } else if self.word("matches") {
            Relation::Matches
        } else {
            return None;
        };
        Some(Named::Relation(relation))
    }

    fn matches(&mut self, left: Node) -> Result<Node, Wrong> {
        self.scan.space();
        let start = self.scan;
        let right = self.sum()?;
        let Node::Literal(Value::String(pattern)) = &right else {
            return Ok(Node::Compare(Relation::Matches, Box::new((left, right))));
        };
        let regex = Regex::linear(pattern).map_err(|reason| {
            let message = start.wrong("invalid pattern") + ": " + &reason;
            Wrong { code: "E003", message }
        })?;
        Ok(Node::Matches(Box::new(left), Pattern(regex)))
    }

    fn sum(&mut self) -> Result<Node, Wrong> {
        self.chain(&[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)], Reader::product)
    }

    fn product(&mut self) -> Result<Node, Wrong> {
        self.chain(&[("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)], Reader::signed)
    }

    fn chain(&mut self, signs: &[(&str, Arithmetic)], read: fn(&mut Self) -> Result<Node, Wrong>) -> Result<Node, Wrong> {
        let first = read(self)?;
        let mut rest = Vec::new();
        while let Some((_, operator)) = signs.iter().find(|it| self.eat(it.0)) {
            rest.push((*operator, read(self)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Calculate(Box::new(first), rest) })
    }

    fn signed(&mut self) -> Result<Node, Wrong> {
        if self.bang() {
            return self.nested(Reader::signed).map(|it| Node::Not(Box::new(it)));
        }
        if self.scan.rest.strip_prefix('-').is_some_and(|it| !it.starts_with(|c: char| c.is_ascii_digit())) {
            self.scan.eat("-");
            return self.nested(Reader::signed).map(|it| Node::Minus(Box::new(it)));
        }
        self.primary()
    }

    fn primary(&mut self) -> Result<Node, Wrong> {
        const WANTED: &str = "a value: a variable, number, quoted string, list or function call";
        if self.eat("(") {
            let inner = self.nested(Reader::choice)?;
            self.need(")")?;
            return Ok(inner);
        }
        if self.eat("[") {
            return self.parts("]").map(list);
        }
        if let Some(value) = self.scan.literal().map_err(bad)? {
            return Ok(Node::Literal(short(value)));
        }
        let start = self.scan;
        let word = self.scan.name();
        let lone = !self.scan.rest.starts_with(['.', '[']);
        self.scan = start;
        if word.starts_with(|c: char| c.is_ascii_digit()) || !start.rest.starts_with(name_character) || lone && WORDS.contains(&word) {
            return Err(self.expected(WANTED));
        }
        let path = self.scan.path().map_err(bad)?;
        let end = self.scan;
        if !self.eat("(") {
            self.scan = end;
            if path.first() == "secret" && path.parts().len() > 1 {
                let message = start.wrong("secret") + " can be used in requests only; use a variable instead";
                return Err(Wrong { code: "E002", message });
            }
            return Ok(Node::Path(path));
        }
        let function = if let [Part::Name(name)] = path.parts() { Function::named(name) } else { None };
        let Some((function, least, most)) = function else {
            let message = start.wrong(&["unknown function '", &path.to_string(), "'"].concat());
            return Err(Wrong { code: "E002", message: message + "; use one of " + &Function::names() });
        };
        let arguments = self.parts(")")?;
        if !(least..=most).contains(&arguments.len()) {
            let expected = match (least, most) {
                (1, 1) => "one argument",
                (2, 2) => "two arguments",
                (0, _) => "at most one argument",
                (1, 2) => "one or two arguments",
                _ => "at least one argument",
            };
            return Err(bad(start.wrong(&["'", word, "'"].concat()) + " takes " + expected));
        }
        Ok(Node::Call(function, arguments))
    }

    /// Parses comma-separated values up to the closing bracket.
    fn parts(&mut self, close: &str) -> Result<Vec<Node>, Wrong> {
        let mut parts = Vec::new();
        if self.eat(close) {
            return Ok(parts);
        }
        loop {
            parts.push(self.nested(Reader::choice)?);
            if self.eat(close) {
                return Ok(parts);
            }
            if !self.eat(",") {
                return Err(self.expected(&["',' or '", close, "'"].concat()));
            }
        }
    }
}

/// A relation written as a word.
enum Named {
    In,
    Relation(Relation),
}

fn negated(not: bool, node: Node) -> Node {
    if not { Node::Not(Box::new(node)) } else { node }
}

/// Creates a list node; a list of literals is a literal.
fn list(parts: Vec<Node>) -> Node {
    let values: Option<Vec<Value>> =
        parts.iter().map(|it| if let Node::Literal(value) = it { Some(value.clone()) } else { None }).collect();
    values.map_or(Node::List(parts), |it| Node::Literal(Value::Array(it)))
}

/// Converts a whole number that is written with a fraction to an integer.
fn short(value: Value) -> Value {
    match &value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().and_then(crate::text::decimal::tidy).map_or(value, |it: Number| Value::Number(it))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => value,
    }
}
