//! The sentences of `corpus`: what is read of them, by language and kind. A wrong or false value fails; what is not read is counted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests read files and end where something is wrong"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use convengine_values::{Consent, Context, Direction, Kind, Parse, read, read_consent};
use serde_json::{Value, json};

/// Wednesday, at noon.
const NOW: &str = "2026-01-28T12:00:00";

/// The page that shows the counts.
const PAGE: &str = "../../docs/reference/entities.md";

const KINDS: [(&str, Option<Kind>); 13] = [
    ("number", Some(Kind::Number)),
    ("percent", Some(Kind::Percent)),
    ("ordinal", Some(Kind::Ordinal)),
    ("currency", Some(Kind::Currency)),
    ("date", Some(Kind::Date)),
    ("time", Some(Kind::Time)),
    ("datetime", Some(Kind::DateTime)),
    ("duration", Some(Kind::Duration)),
    ("daterange", Some(Kind::DateRange)),
    ("timerange", Some(Kind::TimeRange)),
    ("numberrange", Some(Kind::NumberRange)),
    ("currencyrange", Some(Kind::CurrencyRange)),
    ("consent", None),
];

/// A sentence and what it says.
struct Sentence {
    language: String,
    kind: String,
    locale: String,
    text: String,
    /// `None`: it says no such value.
    expected: Option<Value>,
    place: String,
}

/// How many sentences are read so.
#[derive(Default, Clone, Copy)]
struct Counts {
    right: usize,
    unread: usize,
    wrong: usize,
    silent: usize,
    falsely: usize,
}

fn sentences() -> Vec<Sentence> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let language = file.file_stem().unwrap().to_string_lossy().into_owned();
        let (mut kind, mut locale) = (String::new(), String::new());
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            let place = format!("{}:{}", file.file_name().unwrap().to_string_lossy(), number + 1);
            if let Some(header) = line.strip_prefix("# ") {
                let (first, second) = header.split_once(' ').unwrap_or_else(|| panic!("{place}: expected '# kind locale'"));
                (kind, locale) = (first.to_owned(), second.to_owned());
                continue;
            }
            let Some((text, expected)) = line.rsplit_once(" -> ") else {
                assert!(line.trim().is_empty(), "{place}: expected 'text -> value'");
                continue;
            };
            let expected = match expected.trim() {
                "nothing" => None,
                // A text needs no quotes.
                json => Some(serde_json::from_str(json).unwrap_or_else(|_| json.into())),
            };
            let (language, kind, locale) = (language.clone(), kind.clone(), locale.clone());
            all.push(Sentence { language, kind, locale, text: text.trim().to_owned(), expected, place });
        }
    }
    all
}

fn context(locale: &str) -> Context<'_> {
    Context { locale, now: NOW.parse().unwrap(), direction: Direction::Future }
}

fn read_sentence(it: &Sentence) -> Option<Value> {
    let kind = KINDS.iter().find(|kind| kind.0 == it.kind).unwrap_or_else(|| panic!("{}: no kind '{}'", it.place, it.kind)).1;
    if let Some(kind) = kind {
        return read(kind, &it.text, &context(&it.locale)).into_iter().next().map(|it| it.value);
    }
    Some(match read_consent(&it.text, &it.locale)? {
        Consent::Yes => json!("yes"),
        Consent::No => json!("no"),
        Consent::YesBut => json!("yes_but"),
        Consent::NoBut => json!("no_but"),
    })
}

#[test]
fn what_is_read_does_not_depend_on_what_was_read_before() {
    let mut wrong = Vec::new();
    // A third of them take as long as a debug build should.
    for it in sentences().iter().step_by(3) {
        let kinds = KINDS.iter().filter_map(|it| it.1);
        let (mut forward, mut backward) = (Parse::new(&it.text, &context(&it.locale)), Parse::new(&it.text, &context(&it.locale)));
        let first: Vec<_> = kinds.clone().map(|kind| forward.read(kind)).collect();
        let mut last: Vec<_> = kinds.clone().rev().map(|kind| backward.read(kind)).collect();
        last.reverse();
        for (kind, (first, last)) in kinds.zip(first.iter().zip(&last)) {
            let alone = read(kind, &it.text, &context(&it.locale));
            if *first != alone || *last != alone {
                wrong.push(format!("{}: {}: {kind:?}: alone {alone:?}, {first:?}, {last:?}", it.place, it.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} depend:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_sentence_is_read_wrongly_and_the_page_has_the_counts() {
    let mut counts: BTreeMap<(String, String), Counts> = BTreeMap::new();
    let mut wrong = Vec::new();
    for it in sentences().iter().filter(|it| it.kind != "several") {
        let found = read_sentence(it);
        let count = counts.entry((it.language.clone(), it.kind.clone())).or_default();
        match (&it.expected, &found) {
            (Some(expected), Some(found)) if expected == found => count.right += 1,
            (Some(_), None) => count.unread += 1,
            (None, None) => count.silent += 1,
            (expected, Some(found)) => {
                if expected.is_some() {
                    count.wrong += 1
                } else {
                    count.falsely += 1
                }
                let expected = expected.as_ref().map_or("nothing".to_owned(), Value::to_string);
                wrong.push(format!("{}: {}: {found}, expected {expected}", it.place, it.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let table = table(&counts);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    assert!(page.contains(&table), "the page {PAGE} needs this table:\n{table}");
}

/// The table of the page: right of those with a value, and silent of those without.
fn table(counts: &BTreeMap<(String, String), Counts>) -> String {
    let languages = ["en", "de", "es", "fr", "it", "pt", "nl", "hi"];
    let mut table = format!("| kind | {} |\n|---|{}\n", languages.join(" | "), "---|".repeat(languages.len()));
    for (kind, _) in KINDS {
        write!(table, "| {kind} |").unwrap();
        for language in &languages {
            let it = counts.get(&((*language).to_owned(), kind.to_owned())).copied().unwrap_or_default();
            let (with, without) = (it.right + it.unread + it.wrong, it.silent + it.falsely);
            write!(table, " {} of {with}, {without} |", it.right).unwrap();
        }
        table.push('\n');
    }
    table
}

#[test]
fn every_language_has_sentences_of_every_kind() {
    let mut counts: BTreeMap<(String, String), [usize; 2]> = BTreeMap::new();
    for it in sentences() {
        let kind = if it.kind == "currencyrange" { "numberrange".to_owned() } else { it.kind };
        counts.entry((it.language, kind)).or_default()[usize::from(it.expected.is_none())] += 1;
    }
    for language in ["en", "de", "es", "fr", "it", "pt", "nl", "hi"] {
        // Ranges of numbers and of amounts are counted together.
        for (kind, _) in KINDS.iter().filter(|it| it.0 != "currencyrange") {
            let [with, without] = counts.get(&(language.to_owned(), (*kind).to_owned())).copied().unwrap_or_default();
            assert!(with >= 60 && without >= 40, "{language} {kind}: {with} with a value, {without} without");
        }
    }
}

/// Sentences with several values: `text -> {"date": ["2026-03-05"], "number": [2]}`, all values of each kind that is named. The page says how
/// many of these lists are read.
#[test]
fn several_values_of_a_sentence_are_read() {
    let all: Vec<Sentence> = sentences().into_iter().filter(|it| it.kind == "several").collect();
    let (mut whole, mut partly, mut differing) = (0, 0, Vec::new());
    for it in &all {
        for (name, expected) in it.expected.as_ref().unwrap().as_object().unwrap() {
            let kind =
                KINDS.iter().find(|kind| kind.0 == name).and_then(|it| it.1).unwrap_or_else(|| panic!("{}: no kind '{name}'", it.place));
            let expected = expected.as_array().unwrap();
            let found: Vec<Value> = Parse::new(&it.text, &context(&it.locale)).read_each(kind).into_iter().map(|it| it.value).collect();
            let mut rest = expected.iter();
            let has_others = found.iter().any(|value| !rest.any(|it| it == value));
            if found == *expected {
                whole += 1;
            } else if has_others {
                differing.push(format!("{}: {}: {name} {}", it.place, it.text, json!(found)));
            } else {
                partly += 1;
            }
        }
    }
    let line = format!(
        "Of {} sentences with several values, {whole} lists of values of a kind are read whole, {partly} in part, and {} with another value.",
        all.len(),
        differing.len()
    );
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    assert!(page.replace('\n', " ").contains(&line), "the page {PAGE} needs this line:\n{line}\n{}", differing.join("\n"));
    assert!(all.len() >= 200, "{} sentences", all.len());
}
