//! `lint-codes.md`: the codes of issues in documents and tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Result;
use convengine_core::config::flow::DocumentSeverity;
use convengine_core::lint::flow::CODES;

use super::markdown::{code, table};
use super::{Meanings, Page, prose, read_source};
use crate::root;

/// What the first letter of a code stands for, in the order of the page.
const GROUPS: [(&str, &str); 16] = [
    ("D", "Structure"),
    ("G", "Graphs"),
    ("I", "Intents"),
    ("N", "Slots and entities"),
    ("E", "Expressions"),
    ("T", "Templates"),
    ("V", "Services and tools"),
    ("S", "Secrets and unverified values"),
    ("C", "Subflows"),
    ("A", "Agents"),
    ("B", "Events and limits"),
    ("K", "Knowledge"),
    ("H", "Handoff"),
    ("P", "Scripts"),
    ("W", "Workflow graphs"),
    ("U", "Not supported yet"),
];

/// Generates the page.
///
/// # Errors
/// If the meanings or a source cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("lint_codes.txt", include_str!("data/lint_codes.txt"))?;
    let mut body = prose(include_str!("data/lint_codes_intro.txt"));
    body.push_str("\n\n## Flow documents\n");
    let mut codes: Vec<(String, String, String)> =
        CODES.iter().map(|code| (code.0.to_owned(), severity(code.1).to_owned(), code.2.to_owned())).collect();
    codes.extend(meanings.names("structure").into_iter().map(|name| {
        let text = meanings.get("structure", &name);
        let (severity, meaning) = text.split_once('|').unwrap_or(("", &text));
        (name, severity.trim().to_owned(), meaning.trim().to_owned())
    }));
    codes.sort();
    for (letter, title) in GROUPS {
        let rows: Vec<Vec<String>> = codes
            .iter()
            .filter(|it| it.0.starts_with(letter))
            .map(|(name, severity, meaning)| vec![code(name), severity.clone(), meaning.clone()])
            .collect();
        if !rows.is_empty() {
            body.push_str(&format!("\n### {title}\n\n{}", table(&["Code", "Severity", "Finds"], &rows)));
        }
    }
    body.push_str("\n## Tables\n\n");
    body.push_str(
        "The rule of an issue is printed in parentheses; those of the compiler without a rule of their own have the rule `compile`, and none \
         is printed.\n\n",
    );
    let rules = table_rules()?;
    let rows: Vec<Vec<String>> = rules
        .iter()
        .map(|name| {
            let text = meanings.get("tables", name);
            let (severity, meaning) =
                text.split_once('|').map(|parts| (parts.0.trim().to_owned(), parts.1.trim().to_owned())).unwrap_or_default();
            vec![code(name), severity, meaning]
        })
        .collect();
    body.push_str(&table(&["Rule", "Severity", "Finds"], &rows));
    let mut gaps = meanings.gaps();
    let known: BTreeSet<&str> = codes.iter().map(|it| it.0.as_str()).collect();
    let unknown = document_codes()?.into_iter().filter(|code| !known.contains(code.as_str()));
    gaps.extend(unknown.map(|it| format!("lint_codes.txt: the code {it} has no meaning")));
    gaps.extend(codes.iter().filter(|it| it.2.is_empty()).map(|it| format!("lint_codes.txt: the code {} has no meaning", it.0)));
    Ok(Page { file: "lint-codes.md", title: "Lint codes", summary: "codes of issues in flow documents and tables", body, gaps })
}

fn severity(severity: DocumentSeverity) -> &'static str {
    match severity {
        DocumentSeverity::Error => "error",
        DocumentSeverity::Warning => "warning",
        DocumentSeverity::Info => "info",
    }
}

/// Texts of the checks that look like rules: names of headers with credentials.
const NOT_RULES: [&str; 3] = ["api-key", "proxy-authorization", "x-api-key"];

/// The rules of issues of tables: `compile`, and the texts of the checks that have the form of a rule.
fn table_rules() -> Result<BTreeSet<String>> {
    let mut rules = BTreeSet::from(["compile".to_owned()]);
    let is_rule =
        |word: &&str| word.contains('-') && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !NOT_RULES.contains(word);
    for file in sources(&["core/lint/src", "core/pack/src"])?
        .iter()
        .filter(|file| file.ends_with("/pack/src/lint.rs") || file.starts_with("core/lint/src") && !file.contains("/flow/"))
    {
        let source = read_source(file)?;
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        rules.extend(code.split('"').filter(is_rule).map(str::to_owned));
    }
    Ok(rules)
}

/// The codes that the checks of documents contain.
fn document_codes() -> Result<BTreeSet<String>> {
    let mut codes = BTreeSet::new();
    for file in sources(&["core/config/src/flow", "core/lint/src/flow"])? {
        let is_code = |word: &str| {
            word.len() == 4 && word.starts_with(|c: char| c.is_ascii_uppercase()) && word[1..].bytes().all(|byte| byte.is_ascii_digit())
        };
        codes.extend(read_source(&file)?.split('"').filter(|it| is_code(it)).map(str::to_owned));
    }
    Ok(codes)
}

/// The texts in quotes that follow a marker.
pub(super) fn literals_after(source: &str, marker: &str) -> Vec<String> {
    let marker = format!("{marker}\"");
    let after = source.match_indices(&marker).filter_map(|(at, _)| source.get(at + marker.len()..));
    after.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// All Rust files below these folders without tests, relative to the repository, sorted.
pub(super) fn sources(folders: &[&str]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut open: Vec<String> = folders.iter().map(|it| (*it).to_owned()).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root().join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            match entry.file_type()?.is_dir() {
                true if name != "tests" => open.push(path),
                false if Path::new(&name).extension().is_some_and(|it| it == "rs") && name != "tests.rs" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}
