//! Values matched by regular expressions.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use convengine_text::collapse_whitespace;
use convengine_text::phrase::Phrase;
use fancy_regex::{Match, RegexBuilder};
use regex_syntax::ast::{Ast, GroupKind, parse::Parser};

use super::negative_phrases::{Excluded, NegativePhrases};
use super::scanner::MAX_VALUES;

/// Backtracking limit per match; linear patterns do not backtrack.
const BACKTRACK_LIMIT: usize = 200_000;

/// Patterns, tried in order.
#[derive(Debug, Clone)]
pub struct PatternEntity {
    patterns: Vec<Pattern>,
    group: Option<String>,
    ignores_case: bool,
    negative: Option<NegativePhrases>,
}

#[derive(Debug, Clone)]
struct Pattern {
    regex: fancy_regex::Regex,
    /// The pattern inside the value group.
    group_pattern: Option<String>,
    has_group: bool,
    /// The pattern for a whole text, compiled when it is first needed.
    whole: Arc<OnceLock<Option<fancy_regex::Regex>>>,
    /// The pattern inside the value group for a whole text, compiled when it is first needed.
    whole_group: Arc<OnceLock<Option<fancy_regex::Regex>>>,
}

impl PatternEntity {
    pub(super) fn new(patterns: &[String], group: Option<&str>, ignores_case: bool) -> Result<PatternEntity, String> {
        let patterns = patterns.iter().map(|it| Pattern::new(it, group, ignores_case)).collect::<Result<_, _>>()?;
        Ok(PatternEntity { patterns, group: group.map(str::to_owned), ignores_case, negative: None })
    }

    /// The same patterns with phrases in which no value is meant.
    pub(super) fn with_negative_phrases(self, phrases: &[String]) -> PatternEntity {
        PatternEntity { negative: Some(NegativePhrases::new(phrases)), ..self }
    }

    pub(super) fn negative_phrases(&self) -> Option<&NegativePhrases> {
        self.negative.as_ref()
    }

    /// Whether a text may have a value in one of its spellings, also within a negative phrase, and when a pattern needs words beside it.
    pub(super) fn may_have_value(&self, text: &str) -> bool {
        let spellings = ["-", " ", ""].map(|separator| Phrase::without_accents(text).tokens().join(separator));
        let spellings: Vec<&str> = spellings.iter().map(String::as_str).chain([text]).collect();
        let sources = self.patterns.iter().flat_map(|pattern| [Some(pattern.regex.as_str()), pattern.group_pattern.as_deref()]).flatten();
        let mut patterns = sources.filter_map(|source| compile(source, true).ok());
        patterns.any(|pattern| spellings.iter().any(|spelling| pattern.is_match(spelling).unwrap_or(true)))
    }

    /// The first pattern without the configured group.
    pub(super) fn pattern_without_group(&self) -> Option<&str> {
        self.patterns.iter().find(|it| !it.has_group).map(|it| it.regex.as_str())
    }

    /// Returns the value of the first pattern that matches in a text.
    pub(super) fn find(&self, text: &str) -> Option<String> {
        let excluded = self.negative.as_ref().map(|it| it.find(text));
        let first =
            |pattern: &Pattern| self.values(pattern, text, excluded.as_ref()).next().map(|capture| capture.as_str().trim().to_owned());
        self.patterns.iter().find_map(|pattern| first(pattern).filter(|value| !value.is_empty()))
    }

    /// Returns the values of a text that do not overlap, with their places. Earlier patterns take precedence.
    pub(super) fn find_all(&self, text: &str) -> Vec<(String, Range<usize>)> {
        let excluded = self.negative.as_ref().map(|it| it.find(text));
        let mut found: Vec<(String, Range<usize>)> = Vec::new();
        for pattern in &self.patterns {
            for value in self.values(pattern, text, excluded.as_ref()).take(MAX_VALUES) {
                let (plain, range) = (value.as_str().trim(), value.range());
                if !plain.is_empty() && !found.iter().any(|(_, other)| other.start < range.end && range.start < other.end) {
                    found.push((plain.to_owned(), range));
                }
            }
        }
        found.sort_by_key(|it| it.1.start);
        found
    }

    /// The values of the matches of a pattern that are meant. A match that exceeds the limit ends the search.
    fn values<'t>(&self, pattern: &Pattern, text: &'t str, excluded: Option<&Excluded>) -> impl Iterator<Item = Match<'t>> {
        let matches = pattern.regex.captures_iter(text).map_while(Result::ok);
        let values = matches.filter_map(|captures| capture_of(&captures, self.group.as_deref()));
        values.filter(move |capture| !excluded.is_some_and(|excluded| excluded.contains(&capture.range())))
    }

    /// Returns the value of a whole text: matched by a pattern, or by the inside of its value group.
    pub(super) fn find_whole(&self, text: &str) -> Option<String> {
        let found = |pattern: &Pattern| {
            let whole = pattern.whole.get_or_init(|| compile_anchored(pattern.regex.as_str(), self.ignores_case));
            captured_value(whole.as_ref()?, text, self.group.as_deref())
        };
        let matches_group = |pattern: &Pattern| {
            let inner = pattern.group_pattern.as_ref()?;
            let inner = pattern.whole_group.get_or_init(|| compile_anchored(inner, self.ignores_case)).as_ref()?;
            inner.is_match(text).is_ok_and(|is_match| is_match).then(|| text.to_owned())
        };
        self.patterns.iter().find_map(found).or_else(|| self.patterns.iter().find_map(matches_group)).filter(|it| !it.is_empty())
    }
}

impl Pattern {
    fn new(pattern: &str, group: Option<&str>, ignores_case: bool) -> Result<Pattern, String> {
        let describe_error = |reason: String| ["'", pattern, "': ", &collapse_whitespace(&reason)].concat();
        let tree = Parser::new().parse(pattern).map_err(|error| describe_error(error.kind().to_string()))?;
        let regex = compile(pattern, ignores_case).map_err(|error| describe_error(error.to_string()))?;
        let group_tree = find_group(&tree, group.unwrap_or("1"));
        let inner = group_tree.and_then(|group| pattern.get(group.span().start.offset..group.span().end.offset));
        // Leading flags apply to the whole pattern.
        let flags = if let Ast::Concat(parts) = &tree { parts.asts.first() } else { None };
        let flags = flags.filter(|flags| matches!(flags, Ast::Flags(_))).and_then(|flags| pattern.get(..flags.span().end.offset));
        let inner = inner.map(|inner| flags.unwrap_or_default().to_owned() + inner);
        let has_group = group.is_none() || group_tree.is_some();
        Ok(Pattern { regex, group_pattern: inner, has_group, whole: Arc::default(), whole_group: Arc::default() })
    }
}

fn compile(pattern: &str, ignores_case: bool) -> Result<fancy_regex::Regex, fancy_regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(ignores_case).backtrack_limit(BACKTRACK_LIMIT).build()
}

/// Compiles a pattern that must match a whole text.
fn compile_anchored(pattern: &str, ignores_case: bool) -> Option<fancy_regex::Regex> {
    // The comment at the end of a pattern with comments would reach over the end of the group.
    let ends = [")$", "\n)$"];
    ends.iter().find_map(|end| compile(&["^(?:", pattern, end].concat(), ignores_case).ok())
}

/// The capture of the configured group, else of the first group, else the whole match.
fn captured_value(regex: &fancy_regex::Regex, text: &str, group: Option<&str>) -> Option<String> {
    let found = regex.captures(text).ok()??;
    Some(capture_of(&found, group)?.as_str().trim().to_owned()).filter(|it| !it.is_empty())
}

fn capture_of<'t>(found: &fancy_regex::Captures<'t, str>, group: Option<&str>) -> Option<Match<'t>> {
    let named = group.and_then(|group| group.parse().map_or_else(|_| found.name(group), |number: usize| found.get(number)));
    named.or_else(|| found.get(1)).or_else(|| found.get(0))
}

/// The syntax tree inside a group, by name or number.
fn find_group<'a>(tree: &'a Ast, group: &str) -> Option<&'a Ast> {
    match tree {
        Ast::Group(it) => {
            let is_requested = match &it.kind {
                GroupKind::CaptureIndex(index) => index.to_string() == group,
                GroupKind::CaptureName { name, .. } => name.name == group || name.index.to_string() == group,
                GroupKind::NonCapturing(_) => false,
            };
            if is_requested { Some(&it.ast) } else { find_group(&it.ast, group) }
        }
        Ast::Repetition(it) => find_group(&it.ast, group),
        Ast::Alternation(it) => it.asts.iter().find_map(|it| find_group(it, group)),
        Ast::Concat(it) => it.asts.iter().find_map(|it| find_group(it, group)),
        Ast::Empty(_)
        | Ast::Flags(_)
        | Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_)
        | Ast::ClassBracketed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::PatternEntity;

    fn patterns(patterns: &[&str], group: Option<&str>) -> PatternEntity {
        PatternEntity::new(&patterns.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), group, false).unwrap()
    }

    #[test]
    fn the_first_matching_pattern_wins() {
        let orders = patterns(&[r"\bORD-(\d{4})\b", r"\b[A-Z]{2}\d{3}\b", r"(?i)\bticket (?<id>\w+)"], None);
        for (text, expected) in [
            ("my order ORD-1234 or AB123", "1234"),
            ("AB123 or ORD-1234", "1234"),
            ("it is AB123.", "AB123"),
            ("ab123", ""),
            ("Ticket x9", "x9"),
            ("", ""),
        ] {
            assert_eq!(orders.find(text).unwrap_or_default(), expected, "{text}");
        }
        assert_eq!(patterns(&[r"(a)(?<which>b)?"], Some("which")).find("a b ab").as_deref(), Some("a"));
        assert_eq!(patterns(&[r"(a)(?P<which>b)"], Some("which")).find("a b ab").as_deref(), Some("b"));
        assert_eq!(patterns(&[r"(a)(b)"], Some("2")).find("ab").as_deref(), Some("b"));
        assert_eq!(patterns(&[r"a*"], None).find("b"), None);
    }

    #[test]
    fn a_pattern_for_a_whole_text_is_compiled_once_for_all_copies() {
        let orders = patterns(&[r"ORD-(\d{4})"], None);
        assert_eq!(orders.clone().find_whole("ORD-1234").as_deref(), Some("1234"));
        assert_eq!(orders.clone().find_whole("1234").as_deref(), Some("1234"));
        let compiled = |pattern: &super::Pattern| pattern.whole.get().is_some() && pattern.whole_group.get().is_some();
        assert!(orders.patterns.iter().all(compiled));
    }

    #[test]
    fn case_may_be_ignored() {
        let plates = PatternEntity::new(&["(?x) ([A-Z]+-[0-9]+) # of a car".to_owned()], None, true).unwrap();
        assert_eq!(plates.find("it is b-77").as_deref(), Some("b-77"));
        assert_eq!((plates.find_whole("b-77").as_deref(), plates.find_whole("my b-77")), (Some("b-77"), None));
    }

    #[test]
    fn a_given_value_has_to_match_as_a_whole() {
        let orders = patterns(&[r"(?i)order (\d{4})", r"X\d|Y"], None);
        for (text, expected) in [
            ("order 1234", "1234"),
            ("ORDER 1234", "1234"),
            ("1234", "1234"),
            ("12345", ""),
            ("my order 1234", ""),
            ("X1", "X1"),
            ("Y", "Y"),
            ("XY", ""),
        ] {
            assert_eq!(orders.find_whole(text).unwrap_or_default(), expected, "{text}");
        }
        assert_eq!(patterns(&[r"(?i)id ([a-c]+)"], None).find_whole("ABC").as_deref(), Some("ABC"));
    }

    #[test]
    fn a_group_may_be_missing() {
        assert_eq!(patterns(&[r"(?<id>\d)", r"x(y)"], Some("id")).pattern_without_group(), Some("x(y)"));
        assert_eq!(patterns(&[r"(?:(?<id>\d))+|a"], Some("id")).pattern_without_group(), None);
        assert_eq!(patterns(&[r"(a)"], Some("2")).pattern_without_group(), Some("(a)"));
        assert_eq!(patterns(&["a"], None).pattern_without_group(), None);
    }

    #[test]
    fn non_linear_patterns_are_refused() {
        for (pattern, reason) in [
            (r"(?=a)b", "look-around"),
            (r"(?<!a)b", "look-around"),
            (r"(a)\1", "backreferences"),
            (r"(?<n>a)\k<n>", "escape"),
            (r"(?>a)", "flag"),
            (r"(", "unclosed group"),
            (r"a{2,1}", "range"),
            (r"\p{Nope}", ""),
            (r"(\w{1000}){1000}", ""),
        ] {
            let error = PatternEntity::new(&[pattern.to_owned()], None, false).unwrap_err();
            assert!(error.contains(reason) && error.contains(pattern) && !error.contains('\n'), "{error}");
        }
    }
}
