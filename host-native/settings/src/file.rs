//! Reads the settings file: TOML with our own keys, or the `application.yml` of the original Spring server.

use std::path::Path;

use figment::Figment;
use figment::error::{Actual, Kind};
use figment::providers::{Format, Toml};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Map, Value, json};

use super::sources::split_models;
use super::tree::extract;
use super::yaml;

/// What a TOML file may contain.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TomlFile {
    database: Option<String>,
    listen: Option<String>,
    #[serde(deserialize_with = "models")]
    llm: Vec<String>,
    convengine: Map<String, Value>,
}

/// Reads a settings file; adds one line per problem.
pub(super) fn read(path: &Path, problems: &mut Vec<String>) -> Map<String, Value> {
    let mut reasons = Vec::new();
    let file = match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text, &mut reasons),
        Err(error) => {
            reasons.push(error.to_string());
            Map::new()
        }
    };
    for reason in reasons {
        let reason: Vec<&str> = reason.split_whitespace().collect();
        problems.push(format!("cannot use the settings file '{}': {}", path.display(), reason.join(" ")));
    }
    file
}

fn parse(path: &Path, text: &str, problems: &mut Vec<String>) -> Map<String, Value> {
    match path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).as_deref() {
        None | Some("toml") => parse_toml(text, problems),
        Some("yml" | "yaml") => {
            let variable = |name: &str| std::env::var(name).ok();
            Map::from_iter([("convengine".to_owned(), Value::Object(yaml::parse_application_yml(text, &variable, problems)))])
        }
        Some(other) => {
            problems.push(format!("unknown extension '.{other}'; use .toml for TOML and .yml or .yaml for application.yml"));
            Map::new()
        }
    }
}

fn parse_toml(text: &str, problems: &mut Vec<String>) -> Map<String, Value> {
    let mut tree: Map<String, Value> = match Figment::from(Toml::string(text)).extract() {
        Ok(tree) => tree,
        Err(error) => {
            problems.extend(error.into_iter().map(|it| it.to_string()));
            return Map::new();
        }
    };
    let file: TomlFile = extract(&mut tree, |path, kind| {
        let key = path.join(".");
        problems.push(match kind {
            Kind::UnknownField(_, known) => format!("{key}: unknown key; use {}", known.join(", ")),
            Kind::InvalidType(found, expected) => format!("{key}: {} is not {expected}", describe(found)),
            other => format!("{key}: {other}"),
        });
    });
    let members = [
        ("database", file.database.map(|it| json!(it))),
        ("listen", file.listen.map(|it| json!(it))),
        ("llm", (!file.llm.is_empty()).then(|| json!(file.llm))),
        ("convengine", Some(Value::Object(file.convengine))),
    ];
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// Returns a value as it stands in the file, or its kind.
fn describe(found: &Actual) -> String {
    match found {
        Actual::Bool(value) => value.to_string(),
        Actual::Unsigned(value) => value.to_string(),
        Actual::Signed(value) => value.to_string(),
        Actual::Float(value) => value.to_string(),
        Actual::Str(value) => format!("'{value}'"),
        other => other.to_string(),
    }
}

/// Deserializes the values of `--llm`: a text with commas or newlines, or a list of such texts.
fn models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let texts = match &value {
        Value::Array(texts) => texts.iter().map(Value::as_str).collect(),
        text => text.as_str().map(|it| vec![it]),
    };
    let texts = texts.ok_or_else(|| D::Error::custom(format!("{value} is not a string or a list of strings")))?;
    Ok(texts.into_iter().flat_map(split_models).collect())
}
