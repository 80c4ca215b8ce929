//! `settings.md`: every setting below `convengine`.

use anyhow::{Context, Result};
use convengine_core::config::settings::Settings;
use convengine_settings::names::{WITHOUT_EFFECT, host_names};
use serde_json::Value;

use super::markdown::{code, table, value};
use super::{Meanings, Page, prose};

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
    body.push_str(&prose(include_str!("data/settings_without_effect.txt")));
    body.push_str("\n\n");
    let rows: Vec<Vec<String>> = WITHOUT_EFFECT.iter().map(|name| vec![code(name), meanings.get("host-ignored", name)]).collect();
    body.push_str(&table(&["Setting", "What it does in ConvEngine, and what happens here"], &rows));
    let mut gaps = meanings.gaps();
    gaps.extend(differences(&names));
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
    let mut parts = text.split('|').map(|part| part.trim().to_owned());
    let mut next = || parts.next().unwrap_or_default();
    let (kind, default, effect) = (next(), next(), next());
    [kind, if default == "-" { String::new() } else { default }, effect]
}

/// Settings that the server reads and the page lacks, and the other way round.
fn differences(documented: &[String]) -> Vec<String> {
    let read = host_names();
    let missing = read.iter().filter(|name| !documented.iter().any(|setting| is_same(setting, name)));
    let missing = missing.map(|it| format!("settings.txt: the server reads '{it}', which has no meaning"));
    let unknown = documented.iter().filter(|setting| !setting.starts_with("tenants.") && !read.iter().any(|name| is_same(setting, name)));
    missing.chain(unknown.map(|it| format!("settings.txt: the server does not read '{it}'"))).collect()
}

/// Whether a documented setting, in which words in capitals stand for any name, is one of a name; keys of maps are not in names.
fn is_same(documented: &str, name: &str) -> bool {
    let (documented, name): (Vec<&str>, Vec<&str>) = (documented.split('.').collect(), name.split('.').collect());
    let is_any = |segment: &str| segment.chars().all(|letter| letter.is_ascii_uppercase());
    let (head, rest) = documented.split_at(name.len().min(documented.len()));
    head.len() == name.len() && head.iter().zip(&name).all(|(one, other)| one == other || is_any(one)) && rest.iter().all(|it| is_any(it))
}
