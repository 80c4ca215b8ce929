//! `settings.md`: every setting below `convengine`.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use convengine_core::config::settings::{IGNORED_KEYS, Settings};
use serde_json::Value;

use super::lint_codes::{literals_after, sources};
use super::markdown::{code, codes, table, value, wrap};
use super::{Meanings, Page, prose, read_source};

/// What the sources contain that read settings: the list of problems, or the tree itself.
const READER_MARKS: [&str; 3] = ["problems: &mut Vec<String>", "settings.pointer(", "tree.pointer("];

/// Functions of these files whose first text is a setting, or the end of one.
const READ_CALLS: [&str; 20] = [
    "pointer(",
    "text(",
    "setting(",
    "read_bool(tree, ",
    "read_bool(&tree, ",
    "for key in [",
    "read_duration(tree, ",
    "read_choice(tree, ",
    "read_text(tree, ",
    "lookup(tree, ",
    "read(",
    "member(",
    "rate(",
    "days(",
    "path(",
    "count(",
    "tree.get(",
    "cap.get(",
    "shift_remove(",
    "let key = ",
];

/// Texts in such calls that are members of values, not settings: members of redaction rules and of tenants.
const NOT_SETTINGS: [&str; 7] = ["pattern", "param", "with", "tenants", "retention", "secrets", "llm"];

/// Generates the page.
///
/// # Errors
/// If the meanings cannot be parsed or a source cannot be read.
pub fn page() -> Result<Page> {
    let meanings = Meanings::parse("settings.txt", include_str!("data/settings.txt"))?;
    let mut body = prose(include_str!("data/settings_intro.txt"));
    body.push_str("\n\n## Settings of turns\n\n");
    let rows: Vec<Vec<String>> = Settings::known_keys()
        .iter()
        .map(|key| {
            let [_, default, effect] = columns(&meanings.get("core", key.name));
            vec![code(key.name), key.expected.clone(), value(&default), code(&key.step), effect]
        })
        .collect();
    let head = ["Setting", "Type", "Default", "Row", "Effect"];
    body.push_str(&table(&head, &rows));
    body.push_str("\n## Settings of the server\n\n");
    let names = meanings.names("host");
    let rows: Vec<Vec<String>> = names
        .iter()
        .map(|name| {
            let [kind, default, effect] = columns(&meanings.get("host", name));
            vec![code(name), kind, value(&default), effect]
        })
        .collect();
    body.push_str(&table(&["Setting", "Type", "Default", "Effect"], &rows));
    body.push_str("\n## Accepted without effect\n\n");
    let warned = codes(IGNORED_KEYS);
    body.push_str(&wrap(&format!(
        "With a warning, as keys of ConvEngine: {warned}. Keys below them that are listed above do have an effect."
    )));
    let ignored: Vec<String> =
        meanings.names("host-ignored").iter().map(|it| format!("{} ({})", code(it), meanings.get("host-ignored", it))).collect();
    body.push_str(&wrap(&format!("\n\nWithout a warning: {}.", ignored.join(", "))));
    let mut gaps = meanings.gaps();
    gaps.extend(missing_keys()?.into_iter().map(|it| format!("settings.txt: the server reads '{it}', which has no meaning")));
    Ok(Page {
        file: "settings.md",
        title: "Settings",
        summary: "every setting below `convengine` with type, default and effect",
        body,
        gaps,
    })
}

/// Returns all documented settings with the JSON of their defaults; `None` without one.
///
/// # Errors
/// If the meanings cannot be parsed.
pub fn setting_keys() -> Result<Vec<(String, Option<Value>)>> {
    let meanings = Meanings::parse("settings.txt", include_str!("data/settings.txt"))?;
    let mut keys = Vec::new();
    for section in ["core", "host"] {
        for name in meanings.names(section) {
            let [_, default, _] = columns(&meanings.get(section, &name));
            let default = (!default.is_empty()).then(|| serde_json::from_str(&default)).transpose();
            keys.push((name.clone(), default.with_context(|| format!("default of {name}"))?));
        }
    }
    Ok(keys)
}

/// Splits `type | default | effect`; a default of `-` is none.
fn columns(text: &str) -> [String; 3] {
    let mut parts = text.split('|').map(|it| it.trim().to_owned());
    let mut next = || parts.next().unwrap_or_default();
    let (kind, default, effect) = (next(), next(), next());
    [kind, if default == "-" { String::new() } else { default }, effect]
}

/// Settings that the sources of the server read and the page lacks.
fn missing_keys() -> Result<Vec<String>> {
    let mut known: Vec<String> = setting_keys()?.into_iter().map(|it| it.0).collect();
    known.extend(["tables", "transport.stomp.topic-prefix"].map(str::to_owned));
    let mut missing = Vec::new();
    for source in reader_sources()? {
        missing.extend(read_keys(&source).into_iter().filter(|it| !is_documented(it, &known)));
    }
    Ok(missing)
}

/// Whether a text is documented: a path as a setting or a group of settings, another text as the end of a setting.
fn is_documented(text: &str, known: &[String]) -> bool {
    let is_found = |key: &String| match text.strip_prefix('.') {
        Some(path) => key == path || key.starts_with(&format!("{path}.")),
        None => key == text || key.ends_with(&format!(".{text}")),
    };
    NOT_SETTINGS.contains(&text) || known.iter().any(is_found)
}

/// The settings that a source reads, with dots; paths of the tree begin with one. Names that are put together at run time count by
/// their parts.
fn read_keys(source: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for call in READ_CALLS {
        for text in literals_after(source, call) {
            let text = text.trim_end_matches('/').replace('/', ".");
            let is_key = !text.is_empty() && text.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || "-.".contains(it));
            keys.extend(is_key.then_some(text));
        }
    }
    keys
}

/// The sources of the server that read settings, without tests.
fn reader_sources() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in sources(&["host-native/src"])? {
        let source = read_source(file)?;
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        found.extend(READER_MARKS.iter().any(|it| code.contains(it)).then(|| code.to_owned()));
    }
    Ok(found)
}

/// Returns how many settings the scan of the server's sources finds.
///
/// # Errors
/// If a source cannot be read.
pub fn count_read_settings() -> Result<usize> {
    Ok(reader_sources()?.iter().flat_map(|it| read_keys(it)).collect::<BTreeSet<_>>().len())
}
