//! Patterns that match other messages than intended.

use std::collections::{BTreeMap, BTreeSet};

use convengine_config::flow::shape::Meaning;
use convengine_config::{Issue, TABLES, TableRow, to_upper_code};
use convengine_text::regex::Regex;

use super::context::LintContext;

/// Regex syntax that is probably unintended in a plain pattern.
const REGEX_SYNTAX: [&str; 8] = [".*", ".+", r"\b", r"\s", r"\d", r"\w", "(?i)", "|"];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    for row in TABLES.iter().flat_map(|it| context.rows(it.name)) {
        for column in row.table().columns_of(|it| it == Meaning::Pattern).map(|it| it.name) {
            let kind = to_upper_code(&kind_of_patterns(row).unwrap_or_else(|| "EXACT".to_owned()));
            let pattern = row.text(column).unwrap_or_default();
            match kind.as_str() {
                "REGEX" => findings.extend(check_doubled_escape(row, column, &pattern)),
                "EXACT" | "CONTAINS" | "STARTS_WITH" => {
                    findings.extend(check_padding(row, column, &kind, &pattern));
                    findings.extend(check_plain_pattern(row, column, &kind, &pattern));
                }
                _ => {}
            }
        }
    }
    check_match_all(context, findings);
    check_overlapping_classifiers(context, findings);
}

/// Returns the kind that a row says its patterns are of.
fn kind_of_patterns(row: &TableRow<'_>) -> Option<String> {
    row.table().columns.iter().find(|column| column.words().contains(&"REGEX")).and_then(|it| row.code(it.name))
}

/// Reports doubled backslashes: SQL does not unescape them, so they match a literal backslash.
fn check_doubled_escape(row: &TableRow<'_>, column: &str, pattern: &str) -> Option<Issue> {
    let is_class = |(at, _): (usize, &str)| {
        let mut after = pattern.get(at + 2..).unwrap_or_default().chars();
        let class = after.next();
        match class {
            Some('b' | 'B') => true,
            Some('s' | 'S' | 'd' | 'D' | 'w' | 'W') => !after.next().is_some_and(char::is_alphabetic),
            Some(_) | None => false,
        }
    };
    pattern.match_indices(r"\\").any(is_class).then(|| {
        let reason = format!("'{pattern}' matches literal backslashes");
        Issue::warning(row.path(column), reason, r"write each \\ as a single \").with_rule("regex-doubled-escape")
    })
}

fn check_padding(row: &TableRow<'_>, column: &str, kind: &str, pattern: &str) -> Option<Issue> {
    let is_padded = matches!(kind, "CONTAINS" | "STARTS_WITH") && pattern.trim() != pattern;
    is_padded.then(|| {
        let reason = format!("'{pattern}' begins or ends with white space, which the message must contain as well");
        Issue::warning(row.path(column), reason, r"remove the white space, or use REGEX with \b for whole words")
            .with_rule("padded-pattern")
    })
}

fn check_plain_pattern(row: &TableRow<'_>, column: &str, kind: &str, pattern: &str) -> Option<Issue> {
    let syntax = REGEX_SYNTAX.iter().find(|it| pattern.contains(*it))?;
    let reason = format!("{kind} matches '{syntax}' literally");
    Some(Issue::warning(row.path(column), reason, "use REGEX, or remove these characters").with_rule("regex-in-plain-pattern"))
}

/// Reports classifiers and policies that match every message, usually because of an empty alternative.
fn check_match_all(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let intents: BTreeSet<Option<String>> = context.rows("ce_intent_classifier").iter().map(|it| it.code("intent_code")).collect();
    for (table, is_only_intent) in [("ce_policy", false), ("ce_intent_classifier", intents.len() < 2)] {
        for row in context.rows(table).iter().filter(|row| !is_only_intent && matches_everything(row)) {
            let reason = "the pattern matches every message, even an empty one";
            let hint = "remove empty alternatives, and require at least one character";
            findings.push(Issue::warning(row.path("pattern"), reason, hint).with_rule("matches-everything"));
        }
    }
}

fn matches_everything(row: &TableRow<'_>) -> bool {
    let is_regex = row.code("rule_type").is_some_and(|code| to_upper_code(&code) == "REGEX");
    // Compiling is expensive, and a pattern without these characters cannot match the empty text. Matching samples proves nothing for
    // look-around.
    let may_be_empty =
        |pattern: &String| pattern.contains(['*', '?', '|']) && !["(?!", "(?<!", "(?=", "(?<="].iter().any(|look| pattern.contains(look));
    let pattern = row.text("pattern").filter(|pattern| is_regex && may_be_empty(pattern)).and_then(|pattern| Regex::new(&pattern).ok());
    pattern.is_some_and(|regex| ["", "~ ~"].iter().all(|text| regex.is_match(text) == Ok(true)))
}

/// Reports one pattern of two intents: on a tie, no intent is chosen.
fn check_overlapping_classifiers(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let mut first: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    for row in context.rows("ce_intent_classifier") {
        let (Some(kind), Some(pattern), Some(intent)) = (row.code("rule_type"), row.code("pattern"), row.code("intent_code")) else {
            continue;
        };
        if !context.intents.contains(&to_upper_code(&intent)) {
            continue;
        }
        let key = (to_upper_code(&kind), pattern.to_lowercase());
        let (other, path) = first.entry(key).or_insert_with(|| (intent.clone(), row.path("pattern")));
        if to_upper_code(other) != to_upper_code(&intent) {
            let reason = format!("{path} has the same pattern for the intent '{other}', so a matching message is ambiguous");
            let hint = "use different words for each intent, or remove one of the rows";
            findings.push(Issue::warning(row.path("pattern"), reason, hint).with_rule("overlapping-classifiers"));
        }
    }
}
