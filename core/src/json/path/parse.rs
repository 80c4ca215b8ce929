//! Parses paths and filter expressions.

use serde_json::Value;

use super::filter::{Filter, Operand, Operator};
use super::query::{Path, Segment};
use super::select::{Selection, Selector};
use crate::text::regex::Regex;

/// The operators; longer signs come before their prefixes.
const OPERATORS: [(&str, Operator); 14] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("in", Operator::In),
    ("nin", Operator::NotIn),
    ("subsetof", Operator::SubsetOf),
    ("anyof", Operator::AnyOf),
    ("noneof", Operator::NoneOf),
    ("size", Operator::Size),
    ("empty", Operator::Empty),
    ("contains", Operator::Contains),
];

/// The deepest nesting of filters; deeper nesting is an error instead of a stack overflow.
const DEPTH: u32 = 32;

/// The largest index that every JSON implementation represents exactly.
const LARGEST_INDEX: u64 = (1 << 53) - 1;

/// Parses a path, or a bare comparison on the document.
pub(super) fn whole(source: &str) -> Result<Path, String> {
    let mut reader = Reader { source, rest: source.trim(), depth: 0 };
    if reader.rest.is_empty() {
        return Err(reader.unexpected());
    }
    let mut path = reader.path()?;
    if reader.rest.is_empty() {
        path.from_document = true;
        return Ok(path);
    }
    let mut reader = Reader { source, rest: source.trim(), depth: 0 };
    let filter = reader.or()?;
    reader.end()?;
    Ok(Path { from_document: true, segments: vec![Segment::Filter(Box::new(filter))] })
}

struct Reader<'s> {
    source: &'s str,
    rest: &'s str,
    depth: u32,
}

impl<'s> Reader<'s> {
    fn unexpected(&self) -> String {
        let at = self.source.chars().count() - self.rest.chars().count() + 1;
        let found: String = self.rest.chars().take(12).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("'{found}'") };
        format!("{found} at character {at} was not expected")
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        self.eat_here(token)
    }

    /// Consumes a token without skipping white space.
    fn eat_here(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).inspect(|rest| self.rest = rest).is_some()
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn end(&mut self) -> Result<(), String> {
        self.space();
        if self.rest.is_empty() { Ok(()) } else { Err(self.unexpected()) }
    }

    fn path(&mut self) -> Result<Path, String> {
        self.space();
        let from_document = !self.rest.starts_with('@');
        let mut segments = Vec::new();
        if self.rest.starts_with(['$', '@']) {
            self.rest = self.rest.get(1..).unwrap_or_default();
        } else {
            segments.push(Segment::Name(self.name()?));
        }
        while let Some(segment) = self.segment()? {
            segments.push(segment);
        }
        Ok(Path { from_document, segments })
    }

    fn segment(&mut self) -> Result<Option<Segment>, String> {
        if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            let selectors = self.descendant()?;
            return Ok(Some(Segment::Select(Selection { deep: true, selectors })));
        }
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            if self.eat_here("*") {
                return Ok(Some(Segment::Select(Selection { deep: false, selectors: vec![Selector::Every] })));
            }
            let name = self.name()?;
            return Ok(Some(if self.call(&name)? { Segment::Length } else { Segment::Name(name) }));
        }
        let Some(rest) = self.rest.strip_prefix('[') else { return Ok(None) };
        self.rest = rest;
        self.bracket().map(Some)
    }

    /// Parses what follows `..`: a star, a name, or a bracket without a filter.
    fn descendant(&mut self) -> Result<Vec<Selector>, String> {
        if self.eat_here("*") {
            return Ok(vec![Selector::Every]);
        }
        if self.eat_here("[") {
            return self.selectors();
        }
        Ok(vec![Selector::Name(self.name()?)])
    }

    /// Parses selectors up to the closing bracket.
    fn selectors(&mut self) -> Result<Vec<Selector>, String> {
        let mut selectors = vec![self.selector()?];
        while self.eat(",") {
            selectors.push(self.selector()?);
        }
        self.need("]")?;
        Ok(selectors)
    }

    fn selector(&mut self) -> Result<Selector, String> {
        self.space();
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(Selector::Name);
        }
        if self.eat("*") {
            return Ok(Selector::Every);
        }
        let start = self.index()?;
        if !self.eat(":") {
            return start.map(Selector::Index).ok_or_else(|| self.unexpected());
        }
        let end = self.index()?;
        let step = if self.eat(":") { self.index()? } else { None };
        Ok(Selector::Slice { start, end, step: step.unwrap_or(1) })
    }

    /// Parses an integer in canonical notation; `None` when no number starts here.
    fn index(&mut self) -> Result<Option<i64>, String> {
        self.space();
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        let index = digits.parse::<i64>().ok().filter(|it| it.to_string() == digits && it.unsigned_abs() <= LARGEST_INDEX);
        let index = index.ok_or_else(|| self.unexpected())?;
        self.rest = rest;
        Ok(Some(index))
    }

    /// Consumes the parentheses of a call of `length` or `size`; other functions are errors.
    fn call(&mut self, name: &str) -> Result<bool, String> {
        if !self.rest.starts_with('(') {
            return Ok(false);
        }
        if !matches!(name, "length" | "size") {
            return Err(self.unexpected());
        }
        self.need("(")?;
        self.need(")")?;
        Ok(true)
    }

    fn name(&mut self) -> Result<String, String> {
        let stop = |c: char| c.is_whitespace() || ".[]()=!<>&|~,'\"?*@$/".contains(c);
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(self.unexpected());
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn bracket(&mut self) -> Result<Segment, String> {
        if self.eat("?") {
            let filter = self.nested(|it| it.or())?;
            self.need("]")?;
            return Ok(Segment::Filter(Box::new(filter)));
        }
        self.space();
        if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while self.eat(",") {
                self.space();
                names.push(self.quoted()?);
            }
            self.need("]")?;
            return Ok(match names.as_slice() {
                [only] => Segment::Name(only.clone()),
                _ => Segment::Names(names),
            });
        }
        Ok(Segment::Select(Selection { deep: false, selectors: self.selectors()? }))
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

    fn or(&mut self) -> Result<Filter, String> {
        let mut filters = vec![self.and()?];
        while self.eat("||") {
            filters.push(self.and()?);
        }
        Ok(alone(filters).unwrap_or_else(Filter::Any))
    }

    fn and(&mut self) -> Result<Filter, String> {
        let mut filters = vec![self.unary()?];
        while self.eat("&&") {
            filters.push(self.unary()?);
        }
        Ok(alone(filters).unwrap_or_else(Filter::All))
    }

    fn unary(&mut self) -> Result<Filter, String> {
        self.space();
        if self.rest.starts_with('!') && !self.rest.starts_with("!=") {
            self.need("!")?;
            return Ok(Filter::Not(Box::new(self.nested(|it| it.unary())?)));
        }
        if self.eat("(") {
            let inner = self.nested(|it| it.or())?;
            self.need(")")?;
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Filter, String> {
        let left = self.operand()?;
        if self.eat("=~") {
            return Ok(Filter::Matches(left, self.regex()?));
        }
        let operator = self.operator();
        match (operator, left) {
            (Some(operator), left) => Ok(Filter::Compare(left, operator, self.operand()?)),
            (None, Operand::Path(path)) => Ok(Filter::Exists(path)),
            (None, Operand::Literal(_)) => Err(self.unexpected()),
        }
    }

    /// Consumes an operator; one that is a word must end where a name would.
    fn operator(&mut self) -> Option<Operator> {
        self.space();
        let ends = |word: &str, rest: &str| {
            !word.starts_with(|c: char| c.is_alphabetic()) || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        for (token, operator) in OPERATORS {
            if let Some(rest) = self.rest.strip_prefix(token).filter(|rest| ends(token, rest)) {
                self.rest = rest;
                return Some(operator);
            }
        }
        None
    }

    fn operand(&mut self) -> Result<Operand, String> {
        self.space();
        if self.rest.starts_with(['\'', '"']) {
            return self.quoted().map(|it| Operand::Literal(Value::String(it)));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.number().map(Operand::Literal);
        }
        if self.eat("[") {
            return self.list().map(Operand::Literal);
        }
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
            if let Some(rest) = self.rest.strip_prefix(word).filter(|rest| ends(rest)) {
                self.rest = rest;
                return Ok(Operand::Literal(value));
            }
        }
        self.nested(|it| it.path()).map(Operand::Path)
    }

    fn list(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() {
                self.need(",")?;
            }
            match self.nested(|it| it.operand())? {
                Operand::Literal(value) => items.push(value),
                Operand::Path(_) => return Err(self.unexpected()),
            }
        }
        Ok(Value::Array(items))
    }

    fn number(&mut self) -> Result<Value, String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = serde_json::from_str(digits).map_err(|_| self.unexpected())?;
        self.rest = rest;
        Ok(number)
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices();
        let Some((_, quote)) = characters.next().filter(|it| matches!(it.1, '\'' | '"')) else { return Err(self.unexpected()) };
        let mut escaped = false;
        for (at, c) in characters {
            if escaped || (c != quote && c != '\\') {
                text.push(c);
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(text);
            }
        }
        Err(self.unexpected())
    }

    /// Parses `/pattern/` or `/pattern/i`; the pattern must match the whole string.
    fn regex(&mut self) -> Result<Regex, String> {
        self.need("/")?;
        let Some((pattern, rest)) = pattern(self.rest) else { return Err(self.unexpected()) };
        let (flags, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        let case = if flags.contains('i') { "" } else { "(?-i)" };
        let regex = Regex::whole(&format!("{case}{pattern}")).map_err(|error| format!("{error}: {}", self.unexpected()))?;
        self.rest = rest;
        Ok(regex)
    }
}

/// Returns the only filter of a list, or else the list.
fn alone(mut filters: Vec<Filter>) -> Result<Filter, Vec<Filter>> {
    if filters.len() > 1 {
        return Err(filters);
    }
    filters.pop().ok_or(filters)
}

/// Splits after the slash that ends a pattern; an escaped slash belongs to the pattern.
fn pattern(text: &str) -> Option<(String, &str)> {
    let mut pattern = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '/' if !escaped => return Some((pattern, text.get(at + 1..).unwrap_or_default())),
            '/' => {
                pattern.pop();
                pattern.push('/');
            }
            _ => pattern.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    None
}
