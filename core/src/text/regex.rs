//! Java-flavoured patterns: look-around and back-references work, and a step limit bounds them.
//!
//! The library runs a linear engine where the pattern allows it; only the other patterns count steps.

use fancy_regex::RegexBuilder;

use super::on_one_line;

/// Steps that a pattern with look-around or back-references may take on one text.
const STEP_LIMIT: usize = 200_000;

/// A compiled pattern that ignores case.
#[derive(Debug, Clone)]
pub struct Regex(fancy_regex::Regex);

/// The pattern took too many steps on this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pattern takes too many steps")]
pub struct StepLimit;

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with the pattern, in one line.
    pub fn new(pattern: &str) -> Result<Regex, String> {
        RegexBuilder::new(&java(pattern))
            .case_insensitive(true)
            .backtrack_limit(STEP_LIMIT)
            .build()
            .map(Regex)
            .map_err(|error| on_one_line(&error.to_string()))
    }

    /// Compiles a pattern that has to match a whole text.
    ///
    /// # Errors
    /// What is wrong with the pattern, in one line.
    pub fn whole(pattern: &str) -> Result<Regex, String> {
        // Compiled alone first, so that an unbalanced group is not closed by ours.
        Regex::new(pattern)?;
        Regex::new(&format!("^(?:{pattern})$"))
    }

    /// The pattern in the library's own spelling.
    pub fn pattern(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the pattern occurs in a text.
    ///
    /// # Errors
    /// [`StepLimit`] when that cannot be said within the bound.
    pub fn find(&self, text: &str) -> Result<bool, StepLimit> {
        self.0.is_match(text).map_err(|_| StepLimit)
    }

    /// The text with another one wherever the pattern occurs; nothing when it does not.
    ///
    /// # Errors
    /// [`StepLimit`] when that cannot be said within the bound.
    pub fn replace(&self, text: &str, with: &str) -> Result<Option<String>, StepLimit> {
        let mut replaced = String::new();
        let mut end = 0;
        for found in self.0.find_iter(text) {
            let found = found.map_err(|_| StepLimit)?;
            replaced.push_str(text.get(end..found.start()).unwrap_or_default());
            replaced.push_str(with);
            end = found.end();
        }
        if end == 0 {
            return Ok(None);
        }
        replaced.push_str(text.get(end..).unwrap_or_default());
        Ok(Some(replaced))
    }
}

/// Writes out what Java has and the library reads otherwise: quotations `\Q…\E`, horizontal white space `\h` and vertical `\v`.
fn java(pattern: &str) -> String {
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
        assert_eq!(Regex::new(r"(?<!not )paid").unwrap().find("NOT paid"), Ok(false));
        assert_eq!(Regex::new(r"\b(\w+) \1\b").unwrap().find("the The"), Ok(true));
        assert_eq!(Regex::new(r"a++b").unwrap().find("aab"), Ok(true));
    }

    #[test]
    fn quotations_and_white_space_are_java_s() {
        assert_eq!(Regex::new(r"^\Qa.b(\E\(+$").unwrap().find("a.b(("), Ok(true));
        assert_eq!(Regex::new(r"^\Qa.b").unwrap().find("axb"), Ok(false));
        assert_eq!(Regex::new(r"^\h+x").unwrap().find("abx"), Ok(false));
        assert_eq!(Regex::new(r"^a\vb\Vc$").unwrap().find("a\nb-c"), Ok(true));
        assert_eq!(Regex::new(r"^[\hy]\Hx\\h").unwrap().find("\tyx\\h"), Ok(true));
    }

    #[test]
    fn a_pattern_that_explodes_is_bounded() {
        let regex = Regex::new(r"(a|b|ab)*(?>c)").unwrap();
        assert_eq!(regex.find(&"ab".repeat(40)), Err(StepLimit));
    }

    #[test]
    fn what_is_found_is_replaced() {
        let digits = Regex::new(r"(?<!\w)\d{4}").unwrap();
        assert_eq!(digits.replace("1234, x5678 and 9999é", "*"), Ok(Some("*, x5678 and *é".to_owned())));
        assert_eq!(digits.replace("1234", ""), Ok(Some(String::new())));
        assert_eq!(digits.replace("none", "*"), Ok(None));
        assert_eq!(Regex::new(r"(a|b|ab)*(?>c)").unwrap().replace(&"ab".repeat(40), ""), Err(StepLimit));
    }

    #[test]
    fn a_bad_pattern_says_what_is_wrong() {
        assert!(Regex::new("(unclosed").unwrap_err().len() > 10);
        assert!(Regex::whole("a)|(b").is_err());
    }
}
