//! Parses queries.

use serde_json::Value;

use super::filter::{Filter, Operand, Operator, Pattern, regex};
use super::{Query, Segment, Selector};
use crate::json::path::select;

/// The deepest nesting of filters; deeper nesting is an error instead of a stack overflow.
const DEPTH: u32 = 32;

/// The largest integer that every JSON implementation represents exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// The comparison operators; longer signs come before their prefixes.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// Parses a query of a document.
pub(super) fn whole(source: &str) -> Result<Query, String> {
    let mut reader = Reader { source, rest: source.trim(), depth: 0 };
    if !reader.rest.starts_with('$') {
        return Err(reader.unexpected());
    }
    let query = reader.query()?;
    if reader.rest.is_empty() { Ok(query) } else { Err(reader.unexpected()) }
}

/// A part of a filter whose role is not known yet.
enum Part {
    Operand(Operand),
    Query(Query),
    Filter(Filter),
}

struct Reader<'s> {
    source: &'s str,
    rest: &'s str,
    depth: u32,
}

impl Reader<'_> {
    fn unexpected(&self) -> String {
        let at = self.source.chars().count() - self.rest.chars().count() + 1;
        let found: String = self.rest.chars().take(12).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("'{found}'") };
        format!("{found} at character {at} was not expected")
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).inspect(|rest| self.rest = rest).is_some()
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        self.space();
        if self.eat(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Parses a query from its root.
    fn query(&mut self) -> Result<Query, String> {
        let from_document = self.eat("$");
        if !from_document {
            self.need("@")?;
        }
        let mut segments = Vec::new();
        loop {
            let before = self.rest;
            self.space();
            let deep = self.eat("..");
            if !deep && self.eat(".") || deep && !self.rest.starts_with('[') {
                let selector = if self.eat("*") { select::Selector::Every } else { select::Selector::Name(self.name()?) };
                segments.push(Segment { deep, selectors: vec![Selector::Place(selector)] });
            } else if self.eat("[") {
                segments.push(Segment { deep, selectors: self.selectors()? });
            } else {
                self.rest = before;
                return Ok(Query { from_document, segments });
            }
        }
    }

    /// Parses an unquoted name.
    fn name(&mut self) -> Result<String, String> {
        let begins = |it: char| it.is_ascii_alphabetic() || it == '_' || !it.is_ascii();
        let inner = |it: char| begins(it) || it.is_ascii_digit() || it == '-';
        let end = self.rest.find(|it| !inner(it)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if !name.starts_with(begins) || rest.starts_with('(') {
            return Err(self.unexpected());
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    /// Parses selectors up to the closing bracket.
    fn selectors(&mut self) -> Result<Vec<Selector>, String> {
        let mut selectors = Vec::new();
        loop {
            selectors.push(self.selector()?);
            self.space();
            if self.eat("]") {
                return Ok(selectors);
            }
            self.need(",")?;
        }
    }

    fn selector(&mut self) -> Result<Selector, String> {
        self.space();
        if self.eat("?") {
            return self.any().map(|it| Selector::Filter(Box::new(it)));
        }
        if self.eat("*") {
            return Ok(Selector::Place(select::Selector::Every));
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(|it| Selector::Place(select::Selector::Name(it)));
        }
        let start = self.whole_number()?;
        self.space();
        if !self.eat(":") {
            return start.map(|it| Selector::Place(select::Selector::Index(it))).ok_or_else(|| self.unexpected());
        }
        let end = self.whole_number()?;
        self.space();
        let step = if self.eat(":") { self.whole_number()? } else { None };
        Ok(Selector::Place(select::Selector::Slice { start, end, step: step.unwrap_or(1) }))
    }

    /// Parses an integer in canonical notation; `None` when no number starts here.
    fn whole_number(&mut self) -> Result<Option<i64>, String> {
        self.space();
        let end = self.rest.find(|it: char| !(it.is_ascii_digit() || it == '-')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse::<i64>().ok().filter(|it| it.to_string() == digits && it.unsigned_abs() <= LARGEST);
        let number = number.ok_or_else(|| self.unexpected())?;
        self.rest = rest;
        Ok(Some(number))
    }

    fn quoted(&mut self) -> Result<String, String> {
        let start = self.rest;
        let mut characters = self.rest.char_indices();
        let Some((_, quote)) = characters.next() else { return Err(self.unexpected()) };
        // Collects the string in JSON syntax.
        let mut json = String::from("\"");
        while let Some((at, character)) = characters.next() {
            match character {
                it if it == quote => {
                    json.push('"');
                    self.rest = start.get(at + 1..).unwrap_or_default();
                    return serde_json::from_str(&json).map_err(|_| self.unexpected());
                }
                '\\' => match characters.next() {
                    Some((_, '\'')) if quote == '\'' => json.push('\''),
                    Some((_, '"')) if quote == '\'' => return Err(self.unexpected()),
                    Some((_, escaped)) => json.extend(['\\', escaped]),
                    None => return Err(self.unexpected()),
                },
                '"' => json.push_str("\\\""),
                other => json.push(other),
            }
        }
        Err(self.unexpected())
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.unexpected());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn any(&mut self) -> Result<Filter, String> {
        let mut filters = vec![self.all()?];
        self.space();
        while self.eat("||") {
            filters.push(self.all()?);
            self.space();
        }
        Ok(if filters.len() > 1 { Filter::Any(filters) } else { Filter::All(filters) })
    }

    fn all(&mut self) -> Result<Filter, String> {
        let mut filters = vec![self.basic()?];
        self.space();
        while self.eat("&&") {
            filters.push(self.basic()?);
            self.space();
        }
        Ok(Filter::All(filters))
    }

    fn basic(&mut self) -> Result<Filter, String> {
        self.space();
        let negated = self.eat("!");
        self.space();
        if self.eat("(") {
            let inner = self.nested(Self::any)?;
            self.need(")")?;
            return Ok(if negated { Filter::Not(Box::new(inner)) } else { inner });
        }
        let start = self.rest;
        let part = self.part()?;
        self.space();
        let operator = OPERATORS.iter().find(|it| self.rest.starts_with(it.0)).filter(|_| !negated);
        if let Some((sign, operator)) = operator {
            let left = Self::operand(part, start)?;
            self.eat(sign);
            self.space();
            let start = self.rest;
            let right = self.part()?;
            return Ok(Filter::Compare(left, *operator, Self::operand(right, start)?));
        }
        let test = match part {
            Part::Query(query) => Filter::Exists(query),
            Part::Filter(filter) => filter,
            Part::Operand(_) => {
                self.rest = start;
                return Err(self.unexpected());
            }
        };
        Ok(if negated { Filter::Not(Box::new(test)) } else { test })
    }

    /// Converts a part to an operand of a comparison.
    fn operand(part: Part, start: &str) -> Result<Operand, String> {
        match part {
            Part::Operand(operand) => Ok(operand),
            Part::Query(query) if query.is_singular() => Ok(Operand::Single(query)),
            Part::Query(_) | Part::Filter(_) => Err(format!("'{}' cannot be compared", start.chars().take(12).collect::<String>())),
        }
    }

    fn part(&mut self) -> Result<Part, String> {
        self.space();
        if self.rest.starts_with(['$', '@']) {
            return self.nested(Self::query).map(Part::Query);
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(|it| Part::Operand(Operand::Literal(Value::from(it))));
        }
        if self.rest.starts_with(|it: char| it.is_ascii_digit() || it == '-') {
            let end = self.rest.find(|it: char| !(it.is_ascii_digit() || "+-.eE".contains(it))).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            let number = serde_json::from_str(digits).map_err(|_| self.unexpected())?;
            self.rest = rest;
            return Ok(Part::Operand(Operand::Literal(number)));
        }
        let end = self.rest.find(|it: char| !(it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let literal = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(literal) = literal {
            self.rest = rest;
            return Ok(Part::Operand(Operand::Literal(literal)));
        }
        if !["length", "count", "value", "match", "search"].contains(&word) || !rest.starts_with('(') {
            return Err(self.unexpected());
        }
        self.rest = rest;
        self.need("(")?;
        let part = self.nested(|it| it.call(word))?;
        self.need(")")?;
        Ok(part)
    }

    /// Parses the arguments of a function.
    fn call(&mut self, function: &str) -> Result<Part, String> {
        if matches!(function, "count" | "value") {
            self.space();
            let query = self.query()?;
            return Ok(Part::Operand(if function == "count" { Operand::Count(query) } else { Operand::Only(query) }));
        }
        let start = self.rest;
        let part = self.part()?;
        let first = Self::operand(part, start)?;
        if function == "length" {
            return Ok(Part::Operand(Operand::Length(Box::new(first))));
        }
        self.need(",")?;
        let start = self.rest;
        let part = self.part()?;
        let whole = function == "match";
        let operand = Self::operand(part, start)?;
        let pattern = match &operand {
            Operand::Literal(pattern) => Pattern::Written(pattern.as_str().and_then(|it| regex(it, whole))),
            Operand::Single(_) | Operand::Length(_) | Operand::Count(_) | Operand::Only(_) => Pattern::Found(operand, whole),
        };
        Ok(Part::Filter(Filter::Matches(first, pattern)))
    }
}
