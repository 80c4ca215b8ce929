//! Parses queries.

use serde_json::Value;

use super::filter::{QueryFilter, QueryOperand, QueryOperator, QueryPattern, compile_pattern};
use super::{Query, QuerySegment, QuerySelector};
use crate::json::path::select;

/// The deepest nesting of filters; deeper nesting is an error instead of a stack overflow.
const MAX_DEPTH: u32 = 32;

/// The largest integer that every JSON implementation represents exactly.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// The comparison operators; longer signs come before their prefixes.
const OPERATORS: [(&str, QueryOperator); 6] = [
    ("==", QueryOperator::Equal),
    ("!=", QueryOperator::NotEqual),
    ("<=", QueryOperator::LessOrEqual),
    (">=", QueryOperator::GreaterOrEqual),
    ("<", QueryOperator::Less),
    (">", QueryOperator::Greater),
];

/// Parses a query of a document.
pub(super) fn parse_query(source: &str) -> Result<Query, String> {
    let mut reader = QueryParser { source, rest: source.trim(), depth: 0 };
    if !reader.rest.starts_with('$') {
        return Err(reader.unexpected_error());
    }
    let query = reader.parse_segments()?;
    if reader.rest.is_empty() { Ok(query) } else { Err(reader.unexpected_error()) }
}

/// A part of a filter whose role is not known yet.
enum FilterPart {
    Operand(QueryOperand),
    Query(Query),
    Filter(QueryFilter),
}

struct QueryParser<'s> {
    source: &'s str,
    rest: &'s str,
    depth: u32,
}

impl QueryParser<'_> {
    fn unexpected_error(&self) -> String {
        let at = self.source.chars().count() - self.rest.chars().count() + 1;
        let found: String = self.rest.chars().take(12).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("'{found}'") };
        format!("{found} at character {at} was not expected")
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).inspect(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        self.skip_space();
        if self.eat(token) { Ok(()) } else { Err(self.unexpected_error()) }
    }

    /// Parses a query from its root.
    fn parse_segments(&mut self) -> Result<Query, String> {
        let from_document = self.eat("$");
        if !from_document {
            self.expect("@")?;
        }
        let mut segments = Vec::new();
        loop {
            let before = self.rest;
            self.skip_space();
            let deep = self.eat("..");
            if !deep && self.eat(".") || deep && !self.rest.starts_with('[') {
                let selector = if self.eat("*") { select::Selector::Wildcard } else { select::Selector::Name(self.parse_name()?) };
                segments.push(QuerySegment { deep, selectors: vec![QuerySelector::Basic(selector)] });
            } else if self.eat("[") {
                segments.push(QuerySegment { deep, selectors: self.parse_selectors()? });
            } else {
                self.rest = before;
                return Ok(Query { from_document, segments });
            }
        }
    }

    /// Parses an unquoted name.
    fn parse_name(&mut self) -> Result<String, String> {
        let begins = |it: char| it.is_ascii_alphabetic() || it == '_' || !it.is_ascii();
        let inner = |it: char| begins(it) || it.is_ascii_digit() || it == '-';
        let end = self.rest.find(|it| !inner(it)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if !name.starts_with(begins) || rest.starts_with('(') {
            return Err(self.unexpected_error());
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    /// Parses selectors up to the closing bracket.
    fn parse_selectors(&mut self) -> Result<Vec<QuerySelector>, String> {
        let mut selectors = Vec::new();
        loop {
            selectors.push(self.parse_selector()?);
            self.skip_space();
            if self.eat("]") {
                return Ok(selectors);
            }
            self.expect(",")?;
        }
    }

    fn parse_selector(&mut self) -> Result<QuerySelector, String> {
        self.skip_space();
        if self.eat("?") {
            return self.parse_any().map(|it| QuerySelector::Filter(Box::new(it)));
        }
        if self.eat("*") {
            return Ok(QuerySelector::Basic(select::Selector::Wildcard));
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.parse_quoted().map(|it| QuerySelector::Basic(select::Selector::Name(it)));
        }
        let start = self.parse_integer()?;
        self.skip_space();
        if !self.eat(":") {
            return start.map(|it| QuerySelector::Basic(select::Selector::Index(it))).ok_or_else(|| self.unexpected_error());
        }
        let end = self.parse_integer()?;
        self.skip_space();
        let step = if self.eat(":") { self.parse_integer()? } else { None };
        Ok(QuerySelector::Basic(select::Selector::Slice { start, end, step: step.unwrap_or(1) }))
    }

    /// Parses an integer in canonical notation; `None` when no number starts here.
    fn parse_integer(&mut self) -> Result<Option<i64>, String> {
        self.skip_space();
        let end = self.rest.find(|it: char| !(it.is_ascii_digit() || it == '-')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse::<i64>().ok().filter(|it| it.to_string() == digits && it.unsigned_abs() <= MAX_INTEGER);
        let number = number.ok_or_else(|| self.unexpected_error())?;
        self.rest = rest;
        Ok(Some(number))
    }

    fn parse_quoted(&mut self) -> Result<String, String> {
        let start = self.rest;
        let mut characters = self.rest.char_indices();
        let Some((_, quote)) = characters.next() else { return Err(self.unexpected_error()) };
        // Collects the string in JSON syntax.
        let mut json = String::from("\"");
        while let Some((at, character)) = characters.next() {
            match character {
                it if it == quote => {
                    json.push('"');
                    self.rest = start.get(at + 1..).unwrap_or_default();
                    return serde_json::from_str(&json).map_err(|_| self.unexpected_error());
                }
                '\\' => match characters.next() {
                    Some((_, '\'')) if quote == '\'' => json.push('\''),
                    Some((_, '"')) if quote == '\'' => return Err(self.unexpected_error()),
                    Some((_, escaped)) => json.extend(['\\', escaped]),
                    None => return Err(self.unexpected_error()),
                },
                '"' => json.push_str("\\\""),
                other => json.push(other),
            }
        }
        Err(self.unexpected_error())
    }

    fn with_depth<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unexpected_error());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn parse_any(&mut self) -> Result<QueryFilter, String> {
        let mut filters = vec![self.parse_all()?];
        self.skip_space();
        while self.eat("||") {
            filters.push(self.parse_all()?);
            self.skip_space();
        }
        Ok(if filters.len() > 1 { QueryFilter::Any(filters) } else { QueryFilter::All(filters) })
    }

    fn parse_all(&mut self) -> Result<QueryFilter, String> {
        let mut filters = vec![self.parse_basic()?];
        self.skip_space();
        while self.eat("&&") {
            filters.push(self.parse_basic()?);
            self.skip_space();
        }
        Ok(QueryFilter::All(filters))
    }

    fn parse_basic(&mut self) -> Result<QueryFilter, String> {
        self.skip_space();
        let negated = self.eat("!");
        self.skip_space();
        if self.eat("(") {
            let inner = self.with_depth(Self::parse_any)?;
            self.expect(")")?;
            return Ok(if negated { QueryFilter::Not(Box::new(inner)) } else { inner });
        }
        let start = self.rest;
        let part = self.parse_part()?;
        self.skip_space();
        let operator = OPERATORS.iter().find(|it| self.rest.starts_with(it.0)).filter(|_| !negated);
        if let Some((sign, operator)) = operator {
            let left = Self::into_operand(part, start)?;
            self.eat(sign);
            self.skip_space();
            let start = self.rest;
            let right = self.parse_part()?;
            return Ok(QueryFilter::Compare(left, *operator, Self::into_operand(right, start)?));
        }
        let test = match part {
            FilterPart::Query(query) => QueryFilter::Exists(query),
            FilterPart::Filter(filter) => filter,
            FilterPart::Operand(_) => {
                self.rest = start;
                return Err(self.unexpected_error());
            }
        };
        Ok(if negated { QueryFilter::Not(Box::new(test)) } else { test })
    }

    /// Converts a part to an operand of a comparison.
    fn into_operand(part: FilterPart, start: &str) -> Result<QueryOperand, String> {
        match part {
            FilterPart::Operand(operand) => Ok(operand),
            FilterPart::Query(query) if query.is_singular() => Ok(QueryOperand::SingularQuery(query)),
            FilterPart::Query(_) | FilterPart::Filter(_) => {
                Err(format!("'{}' cannot be compared", start.chars().take(12).collect::<String>()))
            }
        }
    }

    fn parse_part(&mut self) -> Result<FilterPart, String> {
        self.skip_space();
        if self.rest.starts_with(['$', '@']) {
            return self.with_depth(Self::parse_segments).map(FilterPart::Query);
        }
        if self.rest.starts_with(['\'', '"']) {
            return self.parse_quoted().map(|it| FilterPart::Operand(QueryOperand::Literal(Value::from(it))));
        }
        if self.rest.starts_with(|it: char| it.is_ascii_digit() || it == '-') {
            let end = self.rest.find(|it: char| !(it.is_ascii_digit() || "+-.eE".contains(it))).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            let number = serde_json::from_str(digits).map_err(|_| self.unexpected_error())?;
            self.rest = rest;
            return Ok(FilterPart::Operand(QueryOperand::Literal(number)));
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
            return Ok(FilterPart::Operand(QueryOperand::Literal(literal)));
        }
        if !["length", "count", "value", "match", "search"].contains(&word) || !rest.starts_with('(') {
            return Err(self.unexpected_error());
        }
        self.rest = rest;
        self.expect("(")?;
        let part = self.with_depth(|it| it.parse_call(word))?;
        self.expect(")")?;
        Ok(part)
    }

    /// Parses the arguments of a function.
    fn parse_call(&mut self, function: &str) -> Result<FilterPart, String> {
        if matches!(function, "count" | "value") {
            self.skip_space();
            let query = self.parse_segments()?;
            return Ok(FilterPart::Operand(if function == "count" { QueryOperand::Count(query) } else { QueryOperand::OnlyValue(query) }));
        }
        let start = self.rest;
        let part = self.parse_part()?;
        let first = Self::into_operand(part, start)?;
        if function == "length" {
            return Ok(FilterPart::Operand(QueryOperand::Length(Box::new(first))));
        }
        self.expect(",")?;
        let start = self.rest;
        let part = self.parse_part()?;
        let whole = function == "match";
        let operand = Self::into_operand(part, start)?;
        let pattern = match &operand {
            QueryOperand::Literal(pattern) => QueryPattern::Literal(pattern.as_str().and_then(|it| compile_pattern(it, whole))),
            QueryOperand::SingularQuery(_) | QueryOperand::Length(_) | QueryOperand::Count(_) | QueryOperand::OnlyValue(_) => {
                QueryPattern::Dynamic(operand, whole)
            }
        };
        Ok(FilterPart::Filter(QueryFilter::Matches(first, pattern)))
    }
}
