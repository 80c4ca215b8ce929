//! A pattern of the library that is compiled at its first search, because one of a thousand is ever searched for.
//!
//! Reading the pattern decides first whether compiling it is certain to succeed; every other pattern is compiled at once, so that its error
//! is that of the library. What is compiled depends on the pattern alone.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fancy_regex::{Assertion, Expr, LookAround, RegexBuilder};

/// Steps that a backtracking pattern may take on one text.
const STEP_LIMIT: usize = 200_000;

/// The most that a pattern compiled later may weigh: about half of the library's limit of 10 MiB.
const MAX_WEIGHT: usize = 8_000;

/// The weight of a class, in characters: `\w` compiles to thousands of states.
const CLASS_WEIGHT: usize = 400;

/// The deepest nesting of a pattern compiled later.
const MAX_DEPTH: usize = 32;

/// A pattern, compiled or not; clones share what is compiled.
#[derive(Clone)]
pub(super) struct CompiledPattern(Arc<Pattern>);

struct Pattern {
    source: String,
    /// `None` when the library refuses the pattern, which is checked ahead.
    compiled: OnceLock<Option<fancy_regex::Regex>>,
}

impl CompiledPattern {
    /// Checks a case-insensitive pattern, and compiles it unless that is certain to succeed.
    pub fn new(source: String) -> fancy_regex::Result<CompiledPattern> {
        if !compiles(&source) {
            return build(&source, true).map(CompiledPattern::from);
        }
        Ok(CompiledPattern(Arc::new(Pattern { source, compiled: OnceLock::new() })))
    }

    /// Returns the compiled pattern; `None` when the library refuses it.
    pub fn get(&self) -> Option<&fancy_regex::Regex> {
        self.0.compiled.get_or_init(|| build(&self.0.source, true).ok()).as_ref()
    }

    /// Returns the pattern in the syntax of the library.
    pub fn source(&self) -> &str {
        &self.0.source
    }
}

impl From<fancy_regex::Regex> for CompiledPattern {
    fn from(regex: fancy_regex::Regex) -> CompiledPattern {
        CompiledPattern(Arc::new(Pattern { source: regex.as_str().to_owned(), compiled: OnceLock::from(Some(regex)) }))
    }
}

impl fmt::Debug for CompiledPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.source.fmt(f)
    }
}

/// Compiles a pattern in the syntax of the library.
pub(super) fn build(pattern: &str, ignores_case: bool) -> fancy_regex::Result<fancy_regex::Regex> {
    RegexBuilder::new(pattern).case_insensitive(ignores_case).backtrack_limit(STEP_LIMIT).build()
}

/// Whether compiling a pattern is certain to succeed.
fn compiles(pattern: &str) -> bool {
    let tree = Expr::parse_tree(pattern).ok();
    let weight = tree.filter(|tree| tree.backrefs.is_empty() && !tree.contains_subroutines).and_then(|it| weight(&it.expr, 0));
    weight.is_some_and(|it| it <= MAX_WEIGHT)
}

/// Returns the weight of a part; `None` for one that the library may refuse.
fn weight(part: &Expr, depth: usize) -> Option<usize> {
    let within = |part: &Expr| weight(part, depth + 1);
    Some(1_usize.saturating_add(match part {
        _ if depth > MAX_DEPTH => return None,
        Expr::Empty => 0,
        Expr::Assertion(it) if !matches!(it, Assertion::EndTextIgnoreTrailingNewlines { .. }) => 0,
        Expr::Literal { val, casei: _ } => val.len(),
        Expr::Any { .. } => CLASS_WEIGHT,
        Expr::Delegate { inner, casei: _ } => {
            regex_syntax::parse(&format!("(?i:{inner})")).ok()?;
            CLASS_WEIGHT
        }
        Expr::Concat(parts) | Expr::Alt(parts) => parts.iter().try_fold(0, |sum: usize, it| Some(sum.saturating_add(within(it)?)))?,
        Expr::Group(inner) => within(inner)?,
        Expr::LookAround(inner, LookAround::LookAhead | LookAround::LookAheadNeg) => within(inner)?,
        Expr::Repeat { child, lo, hi, greedy: _ } if lo <= hi => {
            let times = if *hi == usize::MAX { lo.saturating_add(1) } else { *hi };
            within(child)?.saturating_mul(times)
        }
        Expr::Repeat { .. }
        | Expr::Assertion(_)
        | Expr::LookAround(..)
        | Expr::GeneralNewline { .. }
        | Expr::LiteralBytes { .. }
        | Expr::Backref { .. }
        | Expr::BackrefWithRelativeRecursionLevel { .. }
        | Expr::AtomicGroup(_)
        | Expr::KeepOut
        | Expr::ContinueFromPreviousMatchEnd
        | Expr::BackrefExistsCondition { .. }
        | Expr::Conditional { .. }
        | Expr::SubroutineCall(_)
        | Expr::BacktrackingControlVerb(_)
        | Expr::Absent(_)
        | Expr::DefineGroup { .. }
        | Expr::AstNode(..) => return None,
    }))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::test_numbers::Rng;

    fn is_deferred(pattern: &CompiledPattern) -> bool {
        pattern.0.compiled.get().is_none()
    }

    #[test]
    fn an_ordinary_pattern_is_compiled_at_the_first_search() {
        for source in [r"\b(where|track)\b.*\b(order|parcel)\b", r"^(?!.*\bbill\b).*\d{4,6}$", r"[a-zäöü]+\s?(?=x)", ""] {
            let pattern = CompiledPattern::new(source.to_owned()).unwrap();
            let clone = pattern.clone();
            assert!(is_deferred(&pattern), "{source}");
            assert!(pattern.get().is_some() && !is_deferred(&clone), "{source}");
        }
        for source in [r"(?<!not )paid", r"(\w+) \1", "a++b", r"\w{200}", "(?>a)", "x{5,2}"] {
            assert!(!is_deferred(&CompiledPattern::new(source.to_owned()).unwrap()), "{source}");
        }
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_refused_at_once_with_the_error_of_the_library() {
        for source in ["(", r"\w{5000}", "[z-a]", r"\p{Nothing}", r"(?:\w{100}){100}", r"\2", "a**", r"(?<n>a)(?<n>b)\k<m>"] {
            let own = CompiledPattern::new(source.to_owned()).map(drop).map_err(|it| it.to_string());
            assert!(own.is_err(), "{source}");
            assert_eq!(own, build(source, true).map(drop).map_err(|it| it.to_string()), "{source}");
        }
    }

    #[test]
    fn every_pattern_that_is_deferred_compiles() {
        const PIECES: [&str; 30] = [
            "a",
            "ſ",
            "İ",
            "(",
            "(?:",
            ")",
            ")",
            ")",
            "|",
            "*",
            "+",
            "?",
            "{3}",
            "{2,40}",
            "{0}",
            ".",
            r"\w",
            r"\W",
            r"\P{Lu}",
            "[^a-cé]",
            "[[:alpha:]&&[^x]]",
            r"\b",
            "^",
            "$",
            "(?=",
            "(?!",
            "(?<n>",
            "(?i)",
            "(?x) #",
            r"\A",
        ];
        let mut rng = Rng::new(11);
        let mut pick = |most: u64| usize::try_from(rng.next_u64() % most).unwrap_or_default();
        let (mut deferred, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let source: String = (0..=pick(12)).map(|_| PIECES[pick(30)]).collect();
            match CompiledPattern::new(source.clone()) {
                Ok(pattern) if is_deferred(&pattern) => {
                    deferred += 1;
                    assert!(pattern.get().is_some(), "{source:?}");
                }
                Ok(_) => {}
                Err(_) => refused += 1,
            }
        }
        assert!(deferred > 1_000 && refused > 1_000, "{deferred} deferred, {refused} refused");
        // The heaviest that are deferred.
        for class in [r"\w", r"\W", ".", r"\p{Ll}", r"\P{Lu}", r"[^\p{Ll}\d]"] {
            let pattern = CompiledPattern::new(format!("(?:{class}){{19}}")).unwrap();
            assert!(is_deferred(&pattern) && pattern.get().is_some(), "{class}");
        }
    }
}
