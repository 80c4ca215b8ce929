//! Patterns that match other messages than they seem to.

use std::collections::{BTreeMap, BTreeSet};

use super::ground::Ground;
use crate::config::{Issue, Row, upper};
use crate::text::regex::Regex;

/// Tables with patterns, their columns for the type and the pattern.
const PATTERNS: [(&str, &str, &str); 4] = [
    ("ce_intent_classifier", "rule_type", "pattern"),
    ("ce_policy", "rule_type", "pattern"),
    ("ce_rule", "rule_type", "match_pattern"),
    ("ce_verbose", "step_match", "step_value"),
];

/// What is hardly meant as it stands in a plain text.
const OF_REGEXES: [&str; 8] = [".*", ".+", r"\b", r"\s", r"\d", r"\w", "(?i)", "|"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    for (table, kind, column) in PATTERNS {
        for row in ground.rows(table) {
            let kind = upper(&row.code(kind).unwrap_or_else(|| "EXACT".to_owned()));
            let pattern = row.text(column).unwrap_or_default();
            match kind.as_str() {
                "REGEX" => found.extend(doubled_escape(row, column, &pattern)),
                "EXACT" | "CONTAINS" | "STARTS_WITH" => {
                    found.extend(padded(row, column, &kind, &pattern));
                    found.extend(plain(row, column, &kind, &pattern));
                }
                _ => {}
            }
        }
    }
    of_everything(ground, found);
    of_two_intents(ground, found);
}

/// SQL takes a backslash as it is; one that was doubled for another language stands for a real backslash.
fn doubled_escape(row: &Row<'_>, column: &str, pattern: &str) -> Option<Issue> {
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
        let reason = format!("'{pattern}' asks for real backslashes in the text");
        Issue::warning(row.path(column), reason, r"write each \\ as a single \").of("regex-doubled-escape")
    })
}

fn padded(row: &Row<'_>, column: &str, kind: &str, pattern: &str) -> Option<Issue> {
    let counts = matches!(kind, "CONTAINS" | "STARTS_WITH") && pattern.trim() != pattern;
    counts.then(|| {
        let reason = format!("'{pattern}' begins or ends with a blank, which the message must have too");
        Issue::warning(row.path(column), reason, r"remove the blank, or use REGEX with \b for whole words").of("padded-pattern")
    })
}

fn plain(row: &Row<'_>, column: &str, kind: &str, pattern: &str) -> Option<Issue> {
    let sign = OF_REGEXES.iter().find(|it| pattern.contains(*it))?;
    let reason = format!("{kind} takes '{sign}' as plain characters of the text");
    Some(Issue::warning(row.path(column), reason, "use REGEX, or take the characters out").of("regex-in-plain-pattern"))
}

/// A classifier or policy that fits every message, mostly by an alternative that was left empty.
fn of_everything(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let intents: BTreeSet<Option<String>> = ground.rows("ce_intent_classifier").iter().map(|it| it.code("intent_code")).collect();
    for (table, alone) in [("ce_policy", false), ("ce_intent_classifier", intents.len() < 2)] {
        for row in ground.rows(table).iter().filter(|it| !alone && fits_everything(it)) {
            let reason = "matches every message, even an empty one";
            let hint = "take empty alternatives and what may be absent out of the pattern";
            found.push(Issue::warning(row.path("pattern"), reason, hint).of("matches-everything"));
        }
    }
}

fn fits_everything(row: &Row<'_>) -> bool {
    let is_regex = row.code("rule_type").is_some_and(|it| upper(&it) == "REGEX");
    // Compiling is dear: a pattern without any of these signs needs some character.
    // What must not stand somewhere cannot be tried out.
    let may_be_empty = |it: &String| it.contains(['*', '?', '|']) && !["(?!", "(?<!", "(?=", "(?<="].iter().any(|look| it.contains(look));
    let pattern = row.text("pattern").filter(|it| is_regex && may_be_empty(it)).and_then(|it| Regex::new(&it).ok());
    pattern.is_some_and(|it| ["", "~ ~"].iter().all(|text| it.find(text) == Ok(true)))
}

/// When two intents fit equally well, none is taken.
fn of_two_intents(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let mut first: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    for row in ground.rows("ce_intent_classifier") {
        let (Some(kind), Some(pattern), Some(intent)) = (row.code("rule_type"), row.code("pattern"), row.code("intent_code")) else {
            continue;
        };
        if !ground.intents.contains(&upper(&intent)) {
            continue;
        }
        let key = (upper(&kind), pattern.to_lowercase());
        let (other, path) = first.entry(key).or_insert_with(|| (intent.clone(), row.path("pattern")));
        if upper(other) != upper(&intent) {
            let reason = format!("is the pattern of {path} too, which is of intent '{other}': a message that matches fits both");
            let hint = "give each intent words of its own, or remove one of the rows";
            found.push(Issue::warning(row.path("pattern"), reason, hint).of("overlapping-classifiers"));
        }
    }
}
