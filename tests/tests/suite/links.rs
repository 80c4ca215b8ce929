//! Every link and citation of the repository resolves: files, and anchors in Markdown pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use convengine_test_macros::test;
use convengine_tests::{known_differences, root};

use crate::sources::files;

/// The endings of files with text that people read or that cites the documentation.
const ENDINGS: [&str; 12] = [".rs", ".md", ".ts", ".svelte", ".mjs", ".js", ".css", ".toml", ".sql", ".talk", ".yml", ".html"];

fn text_files() -> impl Iterator<Item = PathBuf> {
    // What earlier releases cited when they created their tables.
    let fixtures = root().join("tests/fixtures");
    files("", &ENDINGS).into_iter().filter(move |path| !path.starts_with(&fixtures))
}

/// Anchors of Markdown pages, read once.
#[derive(Default)]
struct Pages(BTreeMap<PathBuf, BTreeSet<String>>);

impl Pages {
    /// Returns why a target does not resolve. `target` is a path with an optional anchor, relative to `folder`.
    fn problem(&mut self, folder: &Path, target: &str) -> Option<String> {
        let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
        let path = folder.join(file);
        if !path.exists() {
            return Some(format!("{target}: no such file"));
        }
        let anchor = anchor.filter(|_| path.extension().is_some_and(|ending| ending == "md"))?;
        let anchors = self.0.entry(path).or_insert_with_key(|path| anchors(&fs::read_to_string(path).unwrap()));
        (!anchors.contains(anchor)).then(|| format!("{target}: no such anchor"))
    }
}

/// The explicit anchors of a page (`<a id="…">`) and those of its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let explicit = text.split("<a id=\"").skip(1).filter_map(|it| it.split_once('"')).map(|it| it.0.to_owned());
    let headings = text.lines().filter(|it| it.starts_with('#')).map(|line| slug(line.trim_start_matches('#')));
    explicit.chain(headings).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' '))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Citations such as `docs/spec/flows.md#4.4`, which start at the root.
fn citations(text: &str) -> impl Iterator<Item = &str> {
    let ends = |letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '/' | '.' | '-' | '_' | '#'));
    text.match_indices("docs/").filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let target = text[at..].split(ends).next().unwrap_or_default().trim_end_matches('.');
        let is_whole = before.is_none_or(|letter| !(letter.is_ascii_alphanumeric() || matches!(letter, '/' | '.' | '-' | '_')));
        (is_whole && target.contains(".md")).then_some(target)
    })
}

/// Targets of Markdown links outside of code.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|it| it.split_once(')')).map(|it| it.0.to_owned());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' ')).collect()
}

#[test]
#[on(no_database)]
fn links_and_citations_resolve() {
    let mut pages = Pages::default();
    let mut problems = Vec::new();
    let mut citation_count = 0;
    for path in text_files() {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        for target in citations(&text) {
            citation_count += 1;
            // The pattern that the index of the specification explains.
            let found = pages.problem(&root(), target).filter(|_| !target.contains("PAGE") && !shown.ends_with("suite/links.rs"));
            problems.extend(found.map(|it| format!("{shown}: {it}")));
        }
        if path.extension().is_some_and(|it| it == "md") {
            // Parts of generated pages are read where the pages are.
            let folder = if shown.contains("reference/data") { root().join("docs/reference") } else { path.parent().unwrap().to_owned() };
            for target in links(&text) {
                let own = path.file_name().unwrap().to_string_lossy().into_owned();
                let target = if target.starts_with('#') { format!("{own}{target}") } else { target };
                problems.extend(pages.problem(&folder, &target).map(|it| format!("{shown}: {it}")));
            }
        }
    }
    assert!(problems.is_empty(), "broken links and citations:\n{}", problems.join("\n"));
    assert!(citation_count > 200, "only {citation_count} citations were found");
}

/// Returns the number that a link names and that of the page it leads to, if both have one and they differ: the number of a decision, or of
/// a section.
fn misnumbered(text: &str, target: &str) -> Option<(String, String)> {
    let text = text.trim_start_matches("**").trim_end_matches("**").trim();
    let (named, found) = match text.to_lowercase().split_once(char::is_whitespace) {
        Some(("decision", number)) => {
            let file = target.split_once("decisions/").map_or(target, |it| it.1);
            (number.trim().to_owned(), file.split_once('-')?.0.trim_start_matches('0').to_owned())
        }
        _ => (text.to_owned(), target.split_once('#')?.1.to_owned()),
    };
    let is_number = |text: &str| {
        text.starts_with(|letter: char| letter.is_ascii_digit()) && text.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    (is_number(&named) && is_number(&found) && named != found).then_some((named, found))
}

#[test]
#[on(no_database)]
fn links_name_the_numbers_that_they_lead_to() {
    let mut problems = Vec::new();
    let mut count = 0;
    for path in text_files().filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let page = fs::read_to_string(&path).unwrap();
        let prose: String = page.split("```").step_by(2).collect();
        for (before, after) in prose.match_indices("](").map(|it| prose.split_at(it.0)) {
            let (Some((_, text)), Some((target, _))) = (before.rsplit_once('['), after[2..].split_once(')')) else { continue };
            count += usize::from(text.to_lowercase().starts_with("decision"));
            problems.extend(misnumbered(text, target).map(|(named, found)| format!("{}: {named} leads to {found}", path.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 20, "only {count} links to decisions were found");
    assert!(misnumbered("decision\n54", "../decisions/0056-x.md").is_some() && misnumbered("Decision 56", "0056-x.md").is_none());
    assert!(misnumbered("4.12", "flows.md#4.13").is_some() && misnumbered("13.2", "#13.2").is_none());
}

#[test]
#[on(no_database)]
fn known_differences_cite_pages() {
    let mut pages = Pages::default();
    let differences = known_differences().unwrap();
    let broken = differences.rulings().filter_map(|ruling| {
        let (page, reason) = ruling.split_once(": ").unwrap_or((ruling, ""));
        pages.problem(&root(), page).or_else(|| reason.is_empty().then(|| format!("{ruling}: no reason")))
    });
    let broken: Vec<String> = broken.collect();
    assert!(broken.is_empty(), "write 'docs/PAGE.md#ANCHOR: reason':\n{}", broken.join("\n"));
}

#[test]
#[on(no_database)]
fn a_missing_file_and_a_missing_anchor_are_found() {
    let mut pages = Pages::default();
    assert_eq!(pages.problem(&root(), "docs/glossary.md"), None);
    assert_eq!(pages.problem(&root(), "docs/glossary.md#glossary"), None);
    assert!(pages.problem(&root(), "docs/nowhere.md").is_some_and(|it| it.ends_with("no such file")));
    assert!(pages.problem(&root(), "docs/glossary.md#nowhere").is_some_and(|it| it.ends_with("no such anchor")));
    let cited: Vec<&str> = citations("(docs/spec/flows.md#4.4, docs/glossary.md). See ../docs/other.md").collect();
    assert_eq!(cited, ["docs/spec/flows.md#4.4", "docs/glossary.md"]);
}
