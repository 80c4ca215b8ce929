//! Names that nothing sets and that are nearly those of something that is set: they read as null without a word.
//!
//! Clients may send any parameter, and tasks may set any name. So a name is reported only when a known one is near.

use convengine_config::flow::shape::{Meaning, TextUse};
use convengine_config::{Issue, TABLES, TableRow};
use convengine_text::template::Template;
use convengine_understanding::entity::edit_distance;
use serde_json::Value;

use super::context::LintContext;
use super::known_paths::{engine_names, find_similar, is_engine_name};
use super::paths::paths_of;
use super::written::{Members, PARAM_ROOTS, read_names};

/// Names of the templates of a binding: the task and its input.
const BINDING_NAMES: [&str; 3] = ["task", "input", "metadata"];

/// The most letters in which a misspelled name differs.
const MAX_EDITS: usize = 2;

/// Checks what requests and bindings read. Texts and conditions are checked beside their other findings, by [`check_name`].
pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let is_request = |meaning| matches!(meaning, Meaning::Template(TextUse::Url | TextUse::Header | TextUse::Query | TextUse::Body));
    for row in TABLES.iter().flat_map(|it| context.rows(it.name)) {
        for column in row.table().columns_of(is_request) {
            let Ok(template) = Template::compile(&row.text(column.name).unwrap_or_default()) else { continue };
            // Of a bare name, the arguments of the tool come first.
            findings.extend(template.names().filter_map(|name| check_name(context, row, column.name, name, &[])));
        }
    }
    for row in context.rows("ce_task") {
        let Some(binding) = row.text("binding").and_then(|text| serde_json::from_str::<Value>(&text).ok()) else { continue };
        let bare = [&context.written.params, &context.written.context];
        let names = read_names(&binding);
        let read = names.iter().filter(|name| !name.split('.').next().is_some_and(|first| BINDING_NAMES.contains(&first)));
        findings.extend(read.filter_map(|name| check_name(context, row, "binding", name, &bare)));
    }
    for rule in &context.rules {
        if let Some(source) = rule.action.source_path() {
            findings.extend(check_paths(context, &rule.row, "action_value", source));
        }
    }
}

/// Checks what a JSON path of the facts reads; reports the first misspelled name.
pub(super) fn check_paths(context: &LintContext<'_>, row: &TableRow<'_>, column: &str, source: &str) -> Option<Issue> {
    paths_of(source).iter().find_map(|path| check_name(context, row, column, path, &[&context.written.context]))
}

/// Checks what a JSON path of the context reads.
pub(super) fn check_context_paths(context: &LintContext<'_>, row: &TableRow<'_>, column: &str, source: &str) -> Option<Issue> {
    let paths = paths_of(source);
    paths.iter().filter(|path| !path.is_empty()).find_map(|path| check_name(context, row, column, &format!("context.{path}"), &[]))
}

/// Reports a dotted name that nothing sets, if it is nearly one that something sets. `bare` is where a name without a root is looked up.
pub(super) fn check_name(context: &LintContext<'_>, row: &TableRow<'_>, column: &str, name: &str, bare: &[&Members]) -> Option<Issue> {
    let written = &context.written;
    let parts: Vec<&str> = name.split('.').collect();
    let (places, start): (Vec<&Members>, usize) = match parts.as_slice() {
        ["session", "context", ..] => (vec![&written.context], 2),
        ["session", ..] | [] => return None,
        ["context", ..] => (vec![&written.context], 1),
        [root, ..] if PARAM_ROOTS.contains(root) => (vec![&written.params], 1),
        [_, ..] => (bare.to_vec(), 0),
    };
    let (at, places) = find_unset(&parts, start, places)?;
    let unset = parts.get(at)?;
    let is_top = at == start;
    if is_top && (is_engine_name(unset) || written.sources.contains(*unset)) {
        return None;
    }
    let mut known: Vec<&str> = places.iter().flat_map(|it| it.names()).collect();
    if is_top && start > 0 {
        known.extend(engine_names());
    }
    let near = find_near(unset, &known)?;
    let reason = format!("nothing in the configuration sets '{}', which is then null", join_path(&parts, at, unset));
    let hint = format!("write {}, unless a client or a service sets it", join_path(&parts, at, near));
    Some(Issue::warning(row.path(column), reason, hint).with_rule("misspelled-name"))
}

/// Joins the first parts of a path with another last one.
fn join_path(parts: &[&str], count: usize, last: &str) -> String {
    let mut path: Vec<&str> = parts.iter().take(count).copied().collect();
    path.push(last);
    path.join(".")
}

/// Returns the position of the first part of a path that nothing sets, with where it was looked up.
fn find_unset<'m>(parts: &[&str], start: usize, mut places: Vec<&'m Members>) -> Option<(usize, Vec<&'m Members>)> {
    for (at, part) in parts.iter().enumerate().skip(start) {
        let members: Vec<&Members> = places.iter().filter_map(|it| it.member(part)).collect();
        if members.is_empty() {
            return Some((at, places));
        }
        places = members;
    }
    None
}

/// Returns the known name that a name is probably a misspelling of.
fn find_near<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let count_letters = |name: &str| name.chars().filter(|character| *character != '_').count();
    let letters = count_letters(name);
    // Most names are told apart by their length, which is much faster.
    let alike: Vec<&'n str> = known.iter().copied().filter(|other| count_letters(other).abs_diff(letters) <= MAX_EDITS).collect();
    let by_edits = || {
        let near = alike.iter().filter_map(|other| Some((count_edits(name, other)?, *other)));
        near.min_by_key(|it| it.0).map(|it| it.1)
    };
    find_similar(name, alike.iter().copied()).or_else(by_edits)
}

/// Returns how many letters differ between two names if one may be a misspelling of the other.
///
/// A word of a name is judged by its own length: `order_id` is not `order_no`, and `amount` is not `account`.
fn count_edits(left: &str, right: &str) -> Option<usize> {
    let (left_words, right_words) = (split_name(left), split_name(right));
    if left_words.len() != right_words.len() {
        return None;
    }
    let total = left_words.iter().zip(&right_words).try_fold(0, |sum, (left, right)| Some(sum + count_word_edits(left, right)?))?;
    let length = |words: &[String]| words.iter().map(|word| word.chars().count()).sum::<usize>();
    let most = match length(&left_words).min(length(&right_words)) {
        0..=4 => 0,
        5..=7 => 1,
        8.. => MAX_EDITS,
    };
    (total > 0 && total <= most).then_some(total)
}

fn count_word_edits(left: &str, right: &str) -> Option<usize> {
    if left == right {
        return Some(0);
    }
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
    let is_plural = |one: &str, many: &str| !one.ends_with('s') && many.strip_suffix('s') == Some(one);
    if digits(left) != digits(right) || is_plural(left, right) || is_plural(right, left) {
        return None;
    }
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let most = match left.len().min(right.len()) {
        0..=1 => 0,
        2..=7 => 1,
        8.. => MAX_EDITS,
    };
    let edits = edit_distance(&left, &right);
    (edits <= most).then_some(edits)
}

/// Returns the words of a name in lower case: `orderNo` and `order_no` have two.
fn split_name(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && was_lower {
            spaced.push(' ');
        }
        was_lower = character.is_lowercase() || character.is_numeric();
        spaced.push(if character.is_alphanumeric() { character } else { ' ' });
    }
    spaced.split_whitespace().map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::find_near;

    #[test]
    fn a_misspelling_is_told_from_another_name() {
        for (name, known) in [
            ("orderNr", "orderNo"),
            ("order_no", "orderNo"),
            ("refrence", "reference"),
            ("referenec", "reference"),
            ("adress", "address"),
            ("addres", "address"),
            ("customer_nmae", "customer_name"),
            ("id", "ID"),
            ("delivery_addrss_line", "delivery_address_line"),
        ] {
            assert_eq!(find_near(name, &["other", known]), Some(known), "{name}");
        }
        for (name, known) in [
            ("order_id", "order_no"),
            ("account", "amount"),
            ("cart", "card"),
            ("items", "item"),
            ("line1", "line2"),
            ("option_a", "option_b"),
            ("first_name", "last_name"),
            ("startDate", "endDate"),
            ("orderNumber", "orderNo"),
            ("orderNo", "orderNo"),
        ] {
            assert_eq!(find_near(name, &[known]), None, "{name}");
        }
    }
}
