//! Compiles paths in the syntax of RFC 9535, which a library parses.

use jsonpath_rust::parser::errors::JsonPathError;
use jsonpath_rust::parser::model::{
    Comparable, Comparison as StandardComparison, Filter, FilterAtom, FnArg, Literal, Segment, Selector as StandardSelector, SingularQuery,
    SingularQuerySegment, Test, TestFunction,
};
use jsonpath_rust::parser::parse_json_path;
use pest::error::InputLocation;
use serde_json::Value;

use super::operator::PathOperator;
use super::select::{Selection, Selector};
use super::tree::{CompiledPath, PathFilter, PathOperand, PathPattern, PathSegment};
use super::unexpected_error;
use crate::regex::Regex;
use crate::scanner::CharScanner;
use crate::value::Comparison;

/// The deepest nesting of brackets and parentheses. The library tries the readings of what they hold one after the other, at each level.
const MAX_NESTING: usize = 16;

/// Where a path is used, which decides what its filters test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    /// In a table row: an object itself, or the elements of a list.
    Row,
    /// In a flow document: the children of a list or an object.
    Query,
}

/// Compiles a path that begins with `$`.
///
/// # Errors
/// The unexpected text and its character.
pub(super) fn compile(source: &str, used: PathUse) -> Result<CompiledPath, String> {
    check_source(source)?;
    let parsed = parse_json_path(source).map_err(|it| message(source, it))?;
    Ok(CompiledPath { from_document: true, segments: Lowering { used }.segments(parsed.segments)? })
}

/// Rejects what the library does not: a path that nests too deeply, and white space within a name. Texts do not count.
fn check_source(source: &str) -> Result<(), String> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    let belongs_to_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let (mut name_end, mut has_space) = (false, false);
    for (at, character) in source.char_indices() {
        let is_split = quote.is_none() && name_end && has_space && belongs_to_name(character);
        if is_split || depth > MAX_NESTING {
            return Err(unexpected_error(CharScanner::at(source, at)));
        }
        has_space = quote.is_none() && matches!(character, ' ' | '\t' | '\n' | '\r');
        name_end = quote.is_none() && (belongs_to_name(character) || has_space && name_end);
        match (quote, character) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) => quote = Some(open).filter(|it| *it != character),
            (None, '\'' | '"') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    Ok(())
}

/// Returns what is wrong with a path.
fn message(source: &str, error: JsonPathError) -> String {
    match error {
        JsonPathError::PestError(error) => {
            let (InputLocation::Pos(at) | InputLocation::Span((at, _))) = error.location;
            unexpected_error(CharScanner::at(source, at))
        }
        JsonPathError::InvalidJsonPath(reason) => reason,
        // The texts of the others are about the library's grammar.
        JsonPathError::InvalidNumber(_)
        | JsonPathError::MaxNestingDepthExceeded(_)
        | JsonPathError::UnexpectedRuleLogicError(..)
        | JsonPathError::UnexpectedNoneLogicError(..)
        | JsonPathError::UnexpectedPestOutput
        | JsonPathError::NoRulePath
        | JsonPathError::NoJsonPathDescent
        | JsonPathError::NoJsonPathField
        | JsonPathError::InvalidTopLevelRule(_)
        | JsonPathError::EmptyInner(_) => "the path cannot be read".to_owned(),
    }
}

/// Compiles a pattern of `match` (the whole text) or `search` (a part of it); `None` when it is not valid.
pub(super) fn compile_pattern(pattern: &str, is_whole: bool) -> Option<Regex> {
    let alone = Regex::new_linear(&translate_dots(pattern)).ok()?;
    if is_whole { Regex::new_linear(&format!(r"\A(?:{})\z", translate_dots(pattern))).ok() } else { Some(alone) }
}

/// Translates the dot of RFC 9485, which stands for any character that does not end a line.
fn translate_dots(pattern: &str) -> String {
    let (mut translated, mut in_class, mut is_escaped) = (String::with_capacity(pattern.len()), false, false);
    for character in pattern.chars() {
        if character == '.' && !in_class && !is_escaped {
            translated.push_str(r"[^\n\r]");
        } else {
            translated.push(character);
        }
        in_class = !is_escaped && (character == '[' || in_class && character != ']') || in_class && is_escaped;
        is_escaped = character == '\\' && !is_escaped;
    }
    translated
}

/// Converts the library's tree.
struct Lowering {
    used: PathUse,
}

impl Lowering {
    fn segments(&self, segments: Vec<Segment>) -> Result<Vec<PathSegment>, String> {
        segments.into_iter().map(|it| self.segment(it, false)).collect()
    }

    fn segment(&self, segment: Segment, deep: bool) -> Result<PathSegment, String> {
        let selectors = match segment {
            Segment::Descendant(inner) => return self.segment(*inner, true),
            Segment::Selector(StandardSelector::Name(name)) if !deep => return Ok(PathSegment::Name(name)),
            Segment::Selector(StandardSelector::Filter(filter)) if !deep && self.used == PathUse::Row => {
                return Ok(PathSegment::Filter(Box::new(self.filter(filter)?)));
            }
            Segment::Selector(only) => vec![only],
            Segment::Selectors(several) => several,
        };
        let names = selectors.iter().map(|selector| if let StandardSelector::Name(name) = selector { Some(name.clone()) } else { None });
        if let (false, Some(names)) = (deep, names.collect::<Option<Vec<_>>>()) {
            return Ok(PathSegment::Names(names));
        }
        let selectors = selectors.into_iter().map(|it| self.selector(it)).collect::<Result<_, _>>()?;
        Ok(PathSegment::Select(Selection { deep, selectors }))
    }

    fn selector(&self, selector: StandardSelector) -> Result<Selector, String> {
        Ok(match selector {
            StandardSelector::Name(name) => Selector::Name(name),
            StandardSelector::Wildcard => Selector::Wildcard,
            StandardSelector::Index(index) => Selector::Index(index),
            StandardSelector::Slice(start, end, step) => Selector::Slice { start, end, step: step.unwrap_or(1) },
            StandardSelector::Filter(_) if self.used == PathUse::Row => {
                return Err("a filter stands alone in its brackets and not after '..'".to_owned());
            }
            StandardSelector::Filter(filter) => Selector::Filter(Box::new(self.filter(filter)?)),
        })
    }

    fn filter(&self, filter: Filter) -> Result<PathFilter, String> {
        let all = |filters: Vec<Filter>| filters.into_iter().map(|it| self.filter(it)).collect::<Result<Vec<_>, _>>();
        match filter {
            Filter::Or(filters) => all(filters).map(PathFilter::Any),
            Filter::And(filters) => all(filters).map(PathFilter::All),
            Filter::Atom(FilterAtom::Filter { expr, not }) => self.filter(*expr).map(|it| negate_if(not, it)),
            Filter::Atom(FilterAtom::Test { expr, not }) => self.test(*expr).map(|it| negate_if(not, it)),
            Filter::Atom(FilterAtom::Comparison(comparison)) => self.comparison(*comparison),
        }
    }

    fn comparison(&self, comparison: StandardComparison) -> Result<PathFilter, String> {
        let (operator, left, right) = match comparison {
            StandardComparison::Eq(left, right) => (Comparison::Equal, left, right),
            StandardComparison::Ne(left, right) => (Comparison::NotEqual, left, right),
            StandardComparison::Lt(left, right) => (Comparison::Less, left, right),
            StandardComparison::Lte(left, right) => (Comparison::LessOrEqual, left, right),
            StandardComparison::Gt(left, right) => (Comparison::Greater, left, right),
            StandardComparison::Gte(left, right) => (Comparison::GreaterOrEqual, left, right),
        };
        Ok(PathFilter::Compare(self.comparable(left)?, PathOperator::Comparison(operator), self.comparable(right)?))
    }

    fn comparable(&self, comparable: Comparable) -> Result<PathOperand, String> {
        match comparable {
            Comparable::Literal(literal) => Ok(PathOperand::Literal(value(literal))),
            Comparable::Function(function) => self.value_function(function),
            Comparable::SingularQuery(query) => Ok(PathOperand::Path(singular(query))),
        }
    }

    fn test(&self, test: Test) -> Result<PathFilter, String> {
        match test {
            Test::RelQuery(_) | Test::AbsQuery(_) => self.path(test).map(PathFilter::Exists),
            Test::Function(function) => match *function {
                TestFunction::Match(text, pattern) => self.matches(text, pattern, true),
                TestFunction::Search(text, pattern) => self.matches(text, pattern, false),
                other @ (TestFunction::Custom(..) | TestFunction::Length(_) | TestFunction::Value(_) | TestFunction::Count(_)) => {
                    Err(format!("'{}' is not a condition; compare it", name(&other)))
                }
            },
        }
    }

    fn matches(&self, text: FnArg, pattern: FnArg, is_whole: bool) -> Result<PathFilter, String> {
        let pattern = match self.value_argument(pattern)? {
            PathOperand::Literal(pattern) => PathPattern::Literal(pattern.as_str().and_then(|it| compile_pattern(it, is_whole))),
            other @ (PathOperand::Path(_) | PathOperand::Length(_) | PathOperand::Count(_) | PathOperand::Only(_)) => {
                PathPattern::Dynamic(other, is_whole)
            }
        };
        Ok(PathFilter::Matches(self.value_argument(text)?, pattern))
    }

    /// Converts a function that returns a value.
    fn value_function(&self, function: TestFunction) -> Result<PathOperand, String> {
        match function {
            TestFunction::Length(of) => Ok(PathOperand::Length(Box::new(self.value_argument(*of)?))),
            TestFunction::Count(FnArg::Test(of)) => self.path(*of).map(PathOperand::Count),
            TestFunction::Value(FnArg::Test(of)) => self.path(*of).map(PathOperand::Only),
            other @ (TestFunction::Custom(..)
            | TestFunction::Value(_)
            | TestFunction::Count(_)
            | TestFunction::Search(..)
            | TestFunction::Match(..)) => Err(format!("'{}' cannot be used like this", name(&other))),
        }
    }

    /// Converts an argument that is one value: a literal, a path that finds at most one, or a function that returns one.
    fn value_argument(&self, argument: FnArg) -> Result<PathOperand, String> {
        match argument {
            FnArg::Literal(literal) => Ok(PathOperand::Literal(value(literal))),
            FnArg::Test(test) => match *test {
                Test::Function(function) => self.value_function(*function),
                query @ (Test::RelQuery(_) | Test::AbsQuery(_)) => {
                    let path = self.path(query)?;
                    let is_one = path.is_definite();
                    is_one.then_some(PathOperand::Path(path)).ok_or_else(|| "a function needs one value: use value(…)".to_owned())
                }
            },
            FnArg::Filter(_) => Err("a function needs a value, not a condition".to_owned()),
        }
    }

    /// Converts a query.
    fn path(&self, test: Test) -> Result<CompiledPath, String> {
        match test {
            Test::RelQuery(segments) => Ok(CompiledPath { from_document: false, segments: self.segments(segments)? }),
            Test::AbsQuery(query) => Ok(CompiledPath { from_document: true, segments: self.segments(query.segments)? }),
            Test::Function(function) => Err(format!("'{}' is not a path", name(&function))),
        }
    }
}

fn negate_if(not: bool, filter: PathFilter) -> PathFilter {
    if not { PathFilter::Not(Box::new(filter)) } else { filter }
}

fn singular(query: SingularQuery) -> CompiledPath {
    let (from_document, segments) = match query {
        SingularQuery::Root(segments) => (true, segments),
        SingularQuery::Current(segments) => (false, segments),
    };
    let segment = |segment| match segment {
        SingularQuerySegment::Name(name) => PathSegment::Name(name),
        SingularQuerySegment::Index(index) => PathSegment::Select(Selection { deep: false, selectors: vec![Selector::Index(index)] }),
    };
    CompiledPath { from_document, segments: segments.into_iter().map(segment).collect() }
}

fn value(literal: Literal) -> Value {
    match literal {
        Literal::Int(number) => Value::from(number),
        Literal::Float(number) => Value::from(number),
        Literal::String(text) => Value::from(text),
        Literal::Bool(truth) => Value::from(truth),
        Literal::Null => Value::Null,
    }
}

fn name(function: &TestFunction) -> &str {
    match function {
        TestFunction::Custom(name, _) => name,
        TestFunction::Length(_) => "length",
        TestFunction::Value(_) => "value",
        TestFunction::Count(_) => "count",
        TestFunction::Search(..) => "search",
        TestFunction::Match(..) => "match",
    }
}
