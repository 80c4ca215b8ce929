//! Compiles the paths of table rows that are not in the syntax of RFC 9535: comparisons without brackets, operators that are words,
//! names without quotes.

use serde_json::Value;

use super::operator::PathOperator;
use super::select::{Selection, Selector};
use super::tree::{CompiledPath, PathFilter, PathOperand, PathPattern, PathSegment};
use super::unexpected_error;
use crate::scanner::CharScanner;
use crate::value::COMPARISON_SIGNS;

/// The operators that are words.
const WORDS: [(&str, PathOperator); 8] = [
    ("in", PathOperator::In),
    ("nin", PathOperator::NotIn),
    ("subsetof", PathOperator::SubsetOf),
    ("anyof", PathOperator::AnyOf),
    ("noneof", PathOperator::NoneOf),
    ("size", PathOperator::Size),
    ("empty", PathOperator::Empty),
    ("contains", PathOperator::Contains),
];

/// The deepest nesting of filters; deeper nesting is an error instead of a stack overflow.
const MAX_DEPTH: u32 = 32;

/// The largest index that every JSON implementation represents exactly.
const MAX_INDEX: u64 = (1 << 53) - 1;

/// Returns the operators of filters, for the documentation.
pub fn operator_names() -> Vec<&'static str> {
    operators().map(|(token, _)| token).chain(["=~"]).collect()
}

fn operators() -> impl Iterator<Item = (&'static str, PathOperator)> {
    let comparisons = COMPARISON_SIGNS.map(|(sign, comparison)| (sign, PathOperator::Comparison(comparison)));
    comparisons.into_iter().chain(WORDS)
}

/// Compiles a path, or a bare comparison on the document.
///
/// # Errors
/// The unexpected text and its character.
pub(super) fn compile(source: &str) -> Result<CompiledPath, String> {
    let mut reader = PathParser::new(source);
    if reader.scan.rest.is_empty() {
        return Err(reader.unexpected_error());
    }
    let (mut path, has_length) = reader.parse_path()?;
    if reader.scan.rest.is_empty() {
        path.from_document = true;
        // Outside of a comparison, a length is nothing.
        path.segments.extend(has_length.then(|| PathSegment::Filter(Box::new(never()))));
        return Ok(path);
    }
    let mut reader = PathParser::new(source);
    let filter = reader.parse_or()?;
    reader.expect_end()?;
    Ok(CompiledPath { from_document: true, segments: vec![PathSegment::Filter(Box::new(filter))] })
}

/// A segment as rows write it.
enum RowSegment {
    Segment(PathSegment),
    /// `.length()` or `.size()`
    Length,
}

pub(super) struct PathParser<'s> {
    pub scan: CharScanner<'s>,
    depth: u32,
}

impl<'s> PathParser<'s> {
    fn new(source: &'s str) -> PathParser<'s> {
        let mut scan = CharScanner::new(source);
        scan.rest = source.trim();
        PathParser { scan, depth: 0 }
    }

    /// The error for the text at which reading has stopped.
    pub fn unexpected_error(&self) -> String {
        unexpected_error(self.scan)
    }

    /// Consumes a token after white space.
    pub fn eat(&mut self, token: &str) -> bool {
        self.scan.skip_space();
        self.scan.eat(token)
    }

    /// Consumes a token that must come next.
    pub fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected_error()) }
    }

    fn expect_end(&mut self) -> Result<(), String> {
        self.scan.skip_space();
        if self.scan.rest.is_empty() { Ok(()) } else { Err(self.unexpected_error()) }
    }

    /// Parses a path; returns also whether `.length()` ends it.
    fn parse_path(&mut self) -> Result<(CompiledPath, bool), String> {
        self.scan.skip_space();
        let is_current = self.scan.eat("@");
        let mut segments = Vec::new();
        if !is_current && !self.scan.eat("$") {
            segments.push(PathSegment::Name(self.parse_name()?));
        }
        let mut has_length = false;
        while let Some(segment) = self.parse_segment()? {
            match segment {
                RowSegment::Segment(segment) => segments.push(segment),
                RowSegment::Length => {
                    has_length = true;
                    break;
                }
            }
        }
        Ok((CompiledPath { from_document: !is_current, segments }, has_length))
    }

    fn parse_segment(&mut self) -> Result<Option<RowSegment>, String> {
        if self.scan.eat("..") {
            let selectors = self.parse_descendant()?;
            return Ok(Some(RowSegment::Segment(PathSegment::Select(Selection { deep: true, selectors }))));
        }
        if self.scan.eat(".") {
            if self.scan.eat("*") {
                let selectors = vec![Selector::Wildcard];
                return Ok(Some(RowSegment::Segment(PathSegment::Select(Selection { deep: false, selectors }))));
            }
            let name = self.parse_name()?;
            return Ok(Some(if self.eat_call(&name)? { RowSegment::Length } else { RowSegment::Segment(PathSegment::Name(name)) }));
        }
        if self.scan.eat("[") { self.parse_bracket().map(|segment| Some(RowSegment::Segment(segment))) } else { Ok(None) }
    }

    /// Parses what follows `..`: a star, a name, or a bracket without a filter.
    fn parse_descendant(&mut self) -> Result<Vec<Selector>, String> {
        if self.scan.eat("*") {
            return Ok(vec![Selector::Wildcard]);
        }
        if self.scan.eat("[") {
            return self.parse_selectors();
        }
        Ok(vec![Selector::Name(self.parse_name()?)])
    }

    /// Parses selectors up to the closing bracket.
    fn parse_selectors(&mut self) -> Result<Vec<Selector>, String> {
        let mut selectors = vec![self.parse_selector()?];
        while self.eat(",") {
            selectors.push(self.parse_selector()?);
        }
        self.expect("]")?;
        Ok(selectors)
    }

    fn parse_selector(&mut self) -> Result<Selector, String> {
        self.scan.skip_space();
        if self.scan.rest.starts_with(['\'', '"']) {
            return self.parse_quoted().map(Selector::Name);
        }
        if self.eat("*") {
            return Ok(Selector::Wildcard);
        }
        let start = self.parse_index()?;
        if !self.eat(":") {
            return start.map(Selector::Index).ok_or_else(|| self.unexpected_error());
        }
        let end = self.parse_index()?;
        let step = if self.eat(":") { self.parse_index()? } else { None };
        Ok(Selector::Slice { start, end, step: step.unwrap_or(1) })
    }

    /// Parses an integer in canonical notation; `None` when no number starts here.
    fn parse_index(&mut self) -> Result<Option<i64>, String> {
        self.scan.skip_space();
        let start = self.scan;
        let digits = self.scan.take_while(|c| c.is_ascii_digit() || c == '-');
        if digits.is_empty() {
            return Ok(None);
        }
        let index = digits.parse::<i64>().ok().filter(|index| index.to_string() == digits && index.unsigned_abs() <= MAX_INDEX);
        index.map(Some).ok_or_else(|| unexpected_error(start))
    }

    /// Consumes the parentheses of a call of `length` or `size`; other functions are errors.
    fn eat_call(&mut self, name: &str) -> Result<bool, String> {
        if !self.scan.rest.starts_with('(') {
            return Ok(false);
        }
        if !matches!(name, "length" | "size") {
            return Err(self.unexpected_error());
        }
        self.expect("(")?;
        self.expect(")")?;
        Ok(true)
    }

    fn parse_name(&mut self) -> Result<String, String> {
        let name = self.scan.take_while(|c| !(c.is_whitespace() || ".[]()=!<>&|~,'\"?*@$/".contains(c)));
        if name.is_empty() { Err(self.unexpected_error()) } else { Ok(name.to_owned()) }
    }

    fn parse_bracket(&mut self) -> Result<PathSegment, String> {
        if self.eat("?") {
            let filter = self.with_depth(|it| it.parse_or())?;
            self.expect("]")?;
            return Ok(PathSegment::Filter(Box::new(filter)));
        }
        self.scan.skip_space();
        if self.scan.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.parse_quoted()?];
            while self.eat(",") {
                self.scan.skip_space();
                names.push(self.parse_quoted()?);
            }
            self.expect("]")?;
            return Ok(match names.as_slice() {
                [only] => PathSegment::Name(only.clone()),
                _ => PathSegment::Names(names),
            });
        }
        Ok(PathSegment::Select(Selection { deep: false, selectors: self.parse_selectors()? }))
    }

    /// Reads one level deeper.
    pub fn with_depth<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unexpected_error());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn parse_or(&mut self) -> Result<PathFilter, String> {
        self.parse_operands("||", PathParser::parse_and, PathFilter::Any)
    }

    fn parse_and(&mut self) -> Result<PathFilter, String> {
        self.parse_operands("&&", PathParser::parse_unary, PathFilter::All)
    }

    /// Parses one filter, or several between which an operator stands.
    fn parse_operands(
        &mut self,
        sign: &str,
        read: fn(&mut Self) -> Result<PathFilter, String>,
        join: fn(Vec<PathFilter>) -> PathFilter,
    ) -> Result<PathFilter, String> {
        let first = read(self)?;
        let mut rest = Vec::new();
        while self.eat(sign) {
            rest.push(read(self)?);
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(join(rest))
    }

    fn parse_unary(&mut self) -> Result<PathFilter, String> {
        self.scan.skip_space();
        if self.scan.rest.starts_with('!') && !self.scan.rest.starts_with("!=") {
            self.expect("!")?;
            return Ok(PathFilter::Not(Box::new(self.with_depth(|it| it.parse_unary())?)));
        }
        if self.eat("(") {
            let inner = self.with_depth(|it| it.parse_or())?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.parse_comparison()
    }

    fn parse_comparison(&mut self) -> Result<PathFilter, String> {
        let left = self.parse_operand()?;
        if self.eat("=~") {
            return Ok(PathFilter::Matches(left, PathPattern::Literal(Some(self.parse_regex()?))));
        }
        let operator = self.eat_operator();
        match (operator, left) {
            (Some(operator), left) => Ok(PathFilter::Compare(left, operator, self.parse_operand()?)),
            (None, PathOperand::Path(path)) => Ok(PathFilter::Exists(path)),
            (None, PathOperand::Length(_)) => Ok(never()),
            (None, PathOperand::Literal(_) | PathOperand::Count(_) | PathOperand::Only(_)) => Err(self.unexpected_error()),
        }
    }

    /// Consumes an operator; one that is a word must end where a name would.
    fn eat_operator(&mut self) -> Option<PathOperator> {
        self.scan.skip_space();
        let ends = |word: &str, rest: &str| {
            !word.starts_with(|c: char| c.is_alphabetic()) || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        };
        for (token, operator) in operators() {
            if let Some(rest) = self.scan.rest.strip_prefix(token).filter(|rest| ends(token, rest)) {
                self.scan.rest = rest;
                return Some(operator);
            }
        }
        None
    }

    /// Parses one side of a comparison.
    pub fn parse_operand(&mut self) -> Result<PathOperand, String> {
        self.scan.skip_space();
        if self.scan.rest.starts_with(['\'', '"']) {
            return self.parse_quoted().map(|text| PathOperand::Literal(Value::String(text)));
        }
        if self.scan.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.parse_number().map(PathOperand::Literal);
        }
        if self.eat("[") {
            return self.parse_list().map(PathOperand::Literal);
        }
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
            if let Some(rest) = self.scan.rest.strip_prefix(word).filter(|rest| ends(rest)) {
                self.scan.rest = rest;
                return Ok(PathOperand::Literal(value));
            }
        }
        let (path, has_length) = self.with_depth(|it| it.parse_path())?;
        let path = PathOperand::Path(path);
        Ok(if has_length { PathOperand::Length(Box::new(path)) } else { path })
    }
}

/// A filter that nothing passes.
fn never() -> PathFilter {
    PathFilter::Any(Vec::new())
}
