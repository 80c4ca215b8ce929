//! Reads the settings file: TOML with our own keys, or the `application.yml` of the original Spring server.

use std::path::Path;

use figment::Figment;
use figment::providers::{Format, Toml};
use serde_json::{Map, Value};

use super::yaml;

/// The contents of a settings file.
#[derive(Debug, Default)]
pub(super) struct SettingsFile {
    /// The database.
    pub(super) database: Option<String>,
    /// `HOST:PORT`.
    pub(super) listen: Option<String>,
    /// The values of `--llm`.
    pub(super) llm: Vec<String>,
    /// The tree below `convengine`.
    pub(super) convengine: Map<String, Value>,
}

/// Reads a settings file; adds one line per problem.
pub(super) fn read(path: &Path, problems: &mut Vec<String>) -> SettingsFile {
    let mut reasons = Vec::new();
    let file = match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text, &mut reasons),
        Err(error) => {
            reasons.push(error.to_string());
            SettingsFile::default()
        }
    };
    for reason in reasons {
        let reason: Vec<&str> = reason.split_whitespace().collect();
        problems.push(format!("cannot use the settings file '{}': {}", path.display(), reason.join(" ")));
    }
    file
}

fn parse(path: &Path, text: &str, problems: &mut Vec<String>) -> SettingsFile {
    match path.extension().map(|it| it.to_string_lossy().to_lowercase()).as_deref() {
        None | Some("toml") => parse_toml(text, problems),
        Some("yml" | "yaml") => {
            let variable = |name: &str| std::env::var(name).ok();
            SettingsFile { convengine: yaml::parse_application_yml(text, &variable, problems), ..SettingsFile::default() }
        }
        Some(other) => {
            problems.push(format!("unknown extension '.{other}'; use .toml for TOML and .yml or .yaml for application.yml"));
            SettingsFile::default()
        }
    }
}

fn parse_toml(text: &str, problems: &mut Vec<String>) -> SettingsFile {
    let mut file = SettingsFile::default();
    let tree: Map<String, Value> = match Figment::from(Toml::string(text)).extract() {
        Ok(tree) => tree,
        Err(error) => {
            problems.extend(error.into_iter().map(|it| it.to_string()));
            return file;
        }
    };
    for (key, value) in tree {
        match (key.as_str(), value) {
            ("database", Value::String(text)) => file.database = Some(text),
            ("listen", Value::String(text)) => file.listen = Some(text),
            ("llm", Value::String(text)) => file.llm = vec![text],
            ("llm", Value::Array(texts)) if texts.iter().all(Value::is_string) => {
                file.llm = texts.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            ("llm", value) => problems.push(format!("llm: {value} is not a string or a list of strings")),
            ("convengine", Value::Object(map)) => file.convengine = map,
            ("database" | "listen", value) => problems.push(format!("{key}: {value} is not a string")),
            ("convengine", value) => problems.push(format!("{key}: {value} is not a table")),
            _ => problems.push(format!("{key}: unknown key; use database, listen, llm or convengine")),
        }
    }
    file
}
