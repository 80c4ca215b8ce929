//! Java-flavoured regular expressions with look-around and back-references, bounded by a step limit.
//!
//! The library uses its linear engine where the pattern allows it; only backtracking patterns count steps.

use fancy_regex::{Assertion, Expr};

use super::collapse_whitespace;
use super::compiled_pattern::{CompiledPattern, build};

/// A compiled pattern; case-insensitive unless compiled with [`Regex::new_case_sensitive`] or [`Regex::new_linear`].
///
/// A pattern with look-around or back-references backtracks. It is stopped after a number of steps, which is the same on every machine, so
/// that no message can hold a turn.
///
/// ```
/// use convengine_text::regex::{Regex, StepLimit};
///
/// assert_eq!(Regex::new("\\border\\b")?.is_match("Where is my ORDER?"), Ok(true));
/// assert_eq!(Regex::new("\\d{4,}")?.replace("card 12345", "*"), Ok(Some("card *".to_owned())));
/// assert!(Regex::new("(order").is_err());
/// let slow = Regex::new("(a|b|ab)*(?>c)")?;
/// assert_eq!(slow.is_match(&"ab".repeat(1_000)), Err(StepLimit));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct Regex(CompiledPattern);

/// The pattern exceeded its step limit on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pattern takes too many steps")]
pub struct StepLimit;

impl Regex {
    /// Compiles a case-insensitive pattern.
    ///
    /// # Errors
    /// The syntax error, in one line.
    pub fn new(pattern: &str) -> Result<Regex, String> {
        CompiledPattern::new(translate_java_syntax(pattern)).map(Regex).map_err(|error| collapse_whitespace(&error.to_string()))
    }

    /// Compiles a case-sensitive pattern.
    ///
    /// # Errors
    /// The syntax error, in one line.
    pub fn new_case_sensitive(pattern: &str) -> Result<Regex, String> {
        let compiled = build(&translate_java_syntax(pattern), false);
        compiled.map(|regex| Regex(regex.into())).map_err(|error| collapse_whitespace(&error.to_string()))
    }

    /// Compiles a case-insensitive pattern that must match a whole text.
    ///
    /// # Errors
    /// The syntax error, in one line.
    pub fn new_full_match(pattern: &str) -> Result<Regex, String> {
        // Compiled on its own first, so that the added group cannot close an unbalanced one.
        Regex::new(pattern)?;
        // The comment at the end of a pattern with comments would reach over the end of the group.
        Regex::new(&format!("^(?:{pattern})$")).or_else(|_| Regex::new(&format!("^(?:{pattern}\n)$")))
    }

    /// Compiles a case-sensitive pattern that is searched in linear time.
    ///
    /// # Errors
    /// The syntax error, in one line, or that the pattern needs backtracking (look-around, back-references and the like).
    pub fn new_linear(pattern: &str) -> Result<Regex, String> {
        let pattern = translate_java_syntax(pattern);
        let message = |error: fancy_regex::Error| collapse_whitespace(&error.to_string());
        let tree = Expr::parse_tree(&pattern).map_err(message)?;
        if needs_backtracking(&tree.expr) || tree.expr.has_descendant(needs_backtracking) {
            return Err("look-around, back-references and possessive quantifiers are not supported; rewrite the pattern".to_owned());
        }
        build(&pattern, false).map(|regex| Regex(regex.into())).map_err(message)
    }

    /// Returns the pattern in the syntax of the library.
    pub fn pattern(&self) -> &str {
        self.0.source()
    }

    /// Returns whether the pattern occurs in a text.
    ///
    /// # Errors
    /// [`StepLimit`] when the search exceeds the limit.
    pub fn is_match(&self, text: &str) -> Result<bool, StepLimit> {
        self.0.get().ok_or(StepLimit)?.is_match(text).map_err(|_| StepLimit)
    }

    /// Replaces every occurrence of the pattern; returns `None` when there is none.
    ///
    /// # Errors
    /// [`StepLimit`] when the search exceeds the limit.
    pub fn replace(&self, text: &str, with: &str) -> Result<Option<String>, StepLimit> {
        let mut replaced = String::new();
        let (mut end, mut is_found) = (0, false);
        for found in self.0.get().ok_or(StepLimit)?.find_iter(text) {
            let found = found.map_err(|_| StepLimit)?;
            is_found = true;
            replaced.push_str(text.get(end..found.start()).unwrap_or_default());
            replaced.push_str(with);
            end = found.end();
        }
        if !is_found {
            return Ok(None);
        }
        replaced.push_str(text.get(end..).unwrap_or_default());
        Ok(Some(replaced))
    }
}

/// Returns whether a part of a pattern needs backtracking.
fn needs_backtracking(part: &Expr) -> bool {
    match part {
        Expr::Assertion(assertion) => matches!(
            assertion,
            Assertion::EndTextIgnoreTrailingNewlines { .. } | Assertion::LeftWordHalfBoundary | Assertion::RightWordHalfBoundary
        ),
        Expr::Empty
        | Expr::Any { .. }
        | Expr::Literal { .. }
        | Expr::Concat(_)
        | Expr::Alt(_)
        | Expr::Group(_)
        | Expr::Repeat { .. }
        | Expr::Delegate { .. } => false,
        Expr::GeneralNewline { .. }
        | Expr::LiteralBytes { .. }
        | Expr::Backref { .. }
        | Expr::BackrefWithRelativeRecursionLevel { .. }
        | Expr::AtomicGroup(_)
        | Expr::LookAround(..)
        | Expr::KeepOut
        | Expr::ContinueFromPreviousMatchEnd
        | Expr::BackrefExistsCondition { .. }
        | Expr::Conditional { .. }
        | Expr::SubroutineCall(_)
        | Expr::BacktrackingControlVerb(_)
        | Expr::Absent(_)
        | Expr::DefineGroup { .. }
        | Expr::AstNode(..) => true,
    }
}

/// Translates Java syntax that the library reads differently: quotations `\Q…\E`, horizontal white space `\h` and vertical `\v`.
fn translate_java_syntax(pattern: &str) -> String {
    const HORIZONTAL: &str = r" \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
    const VERTICAL: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut characters = after.chars();
        match characters.next() {
            Some('Q') => {
                let (quoted, tail) = characters.as_str().split_once("\\E").unwrap_or((characters.as_str(), ""));
                out.push_str(&fancy_regex::escape(quoted));
                rest = tail;
                continue;
            }
            Some('h') => out.push_str(&format!("[{HORIZONTAL}]")),
            Some('H') => out.push_str(&format!("[^{HORIZONTAL}]")),
            Some('v') => out.push_str(&format!("[{VERTICAL}]")),
            Some('V') => out.push_str(&format!("[^{VERTICAL}]")),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_around_and_back_references_work() {
        assert_eq!(Regex::new(r"(?<!not )paid").unwrap().is_match("NOT paid"), Ok(false));
        assert_eq!(Regex::new(r"\b(\w+) \1\b").unwrap().is_match("the The"), Ok(true));
        assert_eq!(Regex::new(r"a++b").unwrap().is_match("aab"), Ok(true));
    }

    #[test]
    fn quotations_and_white_space_follow_java() {
        assert_eq!(Regex::new(r"^\Qa.b(\E\(+$").unwrap().is_match("a.b(("), Ok(true));
        assert_eq!(Regex::new(r"^\Qa.b").unwrap().is_match("axb"), Ok(false));
        assert_eq!(Regex::new(r"^\h+x").unwrap().is_match("abx"), Ok(false));
        assert_eq!(Regex::new(r"^a\vb\Vc$").unwrap().is_match("a\nb-c"), Ok(true));
        assert_eq!(Regex::new(r"^[\hy]\Hx\\h").unwrap().is_match("\tyx\\h"), Ok(true));
    }

    #[test]
    fn exponential_patterns_are_bounded() {
        let regex = Regex::new(r"(a|b|ab)*(?>c)").unwrap();
        assert_eq!(regex.is_match(&"ab".repeat(40)), Err(StepLimit));
    }

    #[test]
    fn matches_are_replaced() {
        let digits = Regex::new(r"(?<!\w)\d{4}").unwrap();
        assert_eq!(digits.replace("1234, x5678 and 9999é", "*"), Ok(Some("*, x5678 and *é".to_owned())));
        assert_eq!(digits.replace("1234", ""), Ok(Some(String::new())));
        assert_eq!(digits.replace("none", "*"), Ok(None));
        assert_eq!(Regex::new("^").unwrap().replace("ab", "*"), Ok(Some("*ab".to_owned())));
        assert_eq!(Regex::new(r"(a|b|ab)*(?>c)").unwrap().replace(&"ab".repeat(40), ""), Err(StepLimit));
    }

    #[test]
    fn linear_patterns_are_case_sensitive_and_never_backtrack() {
        for (pattern, text, found) in [
            (r"^\d{4}$", "1234", true),
            ("abc", "xABCx", false),
            ("(?i)abc", "xABCx", true),
            (r"\bpaid\b", "it is paid.", true),
            (r"(?P<y>a|b)+c", "abc", true),
            (r"^[[:alpha:]é]+$", "né", true),
        ] {
            assert_eq!(Regex::new_linear(pattern).unwrap().is_match(text), Ok(found), "{pattern}");
        }
        for pattern in ["a(?=b)", "(?<!a)b", r"(a)\1", "a++", "(?>a)", "(", r"a\Z", r"\Ga", r"(?<n>a)\g<n>", "[z-a]"] {
            assert!(Regex::new_linear(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn unicode_is_known() {
        for (pattern, text) in [
            (r"^\p{L}+$", "né"),
            (r"\p{Greek}", "λ"),
            (r"\p{Alphabetic}", "ß"),
            (r"\bété\b", "l'été"),
            ("É", "é"),
            (r"^\d$", "٣"),
            (r"^\p{age:6.0}$", "λ"),
            (r"^e\p{gcb=Extend}$", "e\u{301}"),
        ] {
            assert_eq!(Regex::new(pattern).unwrap().is_match(text), Ok(true), "{pattern}");
        }
    }

    #[test]
    fn invalid_patterns_return_a_message() {
        assert!(Regex::new("(unclosed").unwrap_err().len() > 10);
        assert!(Regex::new_full_match("a)|(b").is_err());
        let commented = Regex::new_full_match("(?x) a b # both").unwrap();
        assert_eq!((commented.is_match("ab"), commented.is_match("abc")), (Ok(true), Ok(false)));
    }
}
