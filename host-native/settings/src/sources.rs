//! Where settings come from: a settings file, the environment and options, merged into one tree in this order.

use convengine_core::config::settings::normalize;
use figment::providers::Serialized;
use figment::value::{Dict, Map as ProfileMap};
use figment::{Error, Figment, Metadata, Profile, Provider};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::file;
use super::names::{all_names, nearest};
use super::variables::find_mistyped;
use crate::Options;

/// The path of the settings.
const ROOT: &str = "convengine";

/// What all sources say together.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MergedSettings {
    /// The database.
    pub(super) database: Option<String>,
    /// `HOST:PORT`.
    pub(super) listen: Option<String>,
    /// The values of `--llm`.
    #[serde(default)]
    pub(super) llm: Vec<String>,
    /// The normalized tree below `convengine`.
    #[serde(default)]
    pub(super) convengine: Map<String, Value>,
}

/// The merged sources, which know where a setting is from.
#[derive(Debug, Clone)]
pub(super) struct SettingSources {
    figment: Figment,
    /// The path of the settings of the server, or of a tenant.
    root: String,
}

/// A file, a variable or an option.
struct Source {
    /// The name in problems.
    name: String,
    tree: Map<String, Value>,
}

impl Source {
    fn new(name: impl Into<String>, mut tree: Map<String, Value>) -> Source {
        if let Some(settings) = tree.get_mut("convengine") {
            *settings = normalize(settings);
        }
        Source { name: name.into(), tree }
    }

    /// A source from one setting; `None` adds nothing.
    fn of_setting(name: &str, key: &str, value: Option<Value>) -> Source {
        Source::new(name, value.map(|it| (key.to_owned(), it)).into_iter().collect())
    }
}

impl Provider for Source {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<ProfileMap<Profile, Dict>, Error> {
        Serialized::defaults(&self.tree).data()
    }
}

impl SettingSources {
    /// Sources without any setting.
    #[cfg(test)]
    pub(super) fn none() -> SettingSources {
        SettingSources { figment: Figment::new(), root: ROOT.to_owned() }
    }

    /// Reads all sources; adds one line per problem.
    pub(super) fn read(options: &Options, problems: &mut Vec<String>) -> SettingSources {
        let mut figment = Figment::new();
        if let Some(path) = options.settings.as_deref() {
            figment = figment.merge(Source::new(path.display().to_string(), file::read(path, problems)));
        }
        // Not read by clap, where a single option would replace the whole variable.
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let models = split_models(&variable("CONVENGINE_LLM"));
        figment = figment.merge(Source::of_setting("CONVENGINE_LLM", "llm", (!models.is_empty()).then(|| json!(models))));
        for line in variable("CONVENGINE_SET").lines().filter(|line| !line.trim().is_empty()) {
            figment = figment.merge(parse_set("CONVENGINE_SET", line, problems));
        }
        let models: Vec<&str> = options.llm.iter().map(|it| it.trim()).collect();
        figment = figment
            .merge(Source::of_setting("--database", "database", options.database.as_ref().map(|it| json!(it))))
            .merge(Source::of_setting("--listen", "listen", options.listen.as_ref().map(|it| json!(it))))
            .merge(Source::of_setting("--llm", "llm", (!models.is_empty()).then(|| json!(models))));
        for set in &options.set {
            figment = figment.merge(parse_set("--set", set, problems));
        }
        problems.extend(find_mistyped(&variable_names(), all_names(), &references(options)));
        SettingSources { figment, root: ROOT.to_owned() }
    }

    /// Merges the sources; adds one line per problem.
    pub(super) fn merge(&self, problems: &mut Vec<String>) -> MergedSettings {
        self.figment.extract().unwrap_or_else(|errors| {
            problems.extend(errors.into_iter().map(|error| error.to_string()));
            MergedSettings::default()
        })
    }

    /// The same sources, for the settings of a tenant.
    pub(super) fn of_tenant(&self, name: &str) -> SettingSources {
        SettingSources { figment: self.figment.clone(), root: format!("{ROOT}.tenants.{name}") }
    }

    /// Returns where a setting is from; a tenant inherits those of the server.
    pub(super) fn find(&self, name: &str) -> Option<String> {
        let find = |root: &str| self.figment.find_metadata(&format!("{root}.{name}"));
        Some(find(&self.root).or_else(|| find(ROOT))?.name.to_string())
    }
}

fn variable_names() -> Vec<String> {
    let mut names: Vec<String> = std::env::vars_os().filter_map(|variable| variable.0.into_string().ok()).collect();
    names.sort();
    names
}

/// The texts that may name variables: options, the variables that hold settings, and the settings file.
fn references(options: &Options) -> String {
    let file = options.settings.as_deref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let variables = ["CONVENGINE_SET", "CONVENGINE_LLM"].map(|name| std::env::var(name).unwrap_or_default());
    [options.set.join("\n"), options.llm.join("\n"), variables.join("\n"), file].join("\n")
}

/// Splits a list of models in text.
pub(super) fn split_models(text: &str) -> Vec<String> {
    text.split([',', '\n']).map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Parses `convengine.a.b=value`; the value is JSON if it can be parsed as such, else text.
fn parse_set(source: &str, set: &str, problems: &mut Vec<String>) -> Source {
    let parts = set.split_once('=').map(|(key, value)| (key.trim(), value));
    let is_key = |key: &str| key.strip_prefix("convengine.").is_some_and(|name| name.split('.').all(|segment| !segment.is_empty()));
    let Some((key, value)) = parts.filter(|it| is_key(it.0)) else {
        // What follows the name may be a secret.
        let name = parts.map_or(set, |it| it.0);
        let lower = name.to_lowercase();
        let lower = lower.strip_prefix("convengine.").unwrap_or(&lower);
        let names = all_names();
        let known = if names.iter().any(|it| it == lower) { Some(lower.to_owned()) } else { nearest(lower, names) };
        let known = known.filter(|_| parts.is_some());
        let advice = known.map(|it| format!("; did you mean convengine.{it}?")).unwrap_or_default();
        problems.push(format!("{source} {name}: invalid setting; use convengine.KEY=VALUE{advice}"));
        return Source::new(source, Map::new());
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    let nested = key.rsplit('.').fold(value, |inner, it| json!({it: inner}));
    Source::new(source, nested.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(options: &Options) -> (MergedSettings, SettingSources, Vec<String>) {
        let mut problems = Vec::new();
        let sources = SettingSources::read(options, &mut problems);
        (sources.merge(&mut problems), sources, problems)
    }

    #[test]
    fn an_option_wins_over_the_file_in_either_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        let text = "listen = '127.0.0.1:1'\nllm = 'policy=off, ollama:b'\n[convengine.flow.dialogueAct]\nresolute = 'LLM_ONLY'\nllmThreshold = 0.5\n";
        std::fs::write(&file, text).unwrap();
        let set = ["convengine.flow.dialogue-act.resolute=REGEX_ONLY", "convengine.config.strict=true"].map(str::to_owned).to_vec();
        let (merged, sources, problems) = merge(&Options { settings: Some(file.clone()), set, ..Options::default() });
        assert_eq!(problems, [""; 0]);
        let expected = json!({"flow": {"dialogue-act": {"resolute": "REGEX_ONLY", "llm-threshold": 0.5}}, "config": {"strict": true}});
        assert_eq!((Value::Object(merged.convengine), merged.listen.as_deref()), (expected, Some("127.0.0.1:1")));
        assert_eq!(merged.llm, ["policy=off", "ollama:b"]);
        assert_eq!(sources.find("flow.dialogue-act.llm-threshold"), Some(file.display().to_string()));
        assert_eq!(sources.find("flow.dialogue-act.resolute").as_deref(), Some("--set"));
        assert_eq!(sources.find("flow.dialogue-act.nothing"), None);
        let llm = ["openai:a", "scripted:x,y.json"].map(str::to_owned).to_vec();
        let (merged, ..) =
            merge(&Options { settings: Some(file), llm: llm.clone(), listen: Some("127.0.0.1:2".to_owned()), ..Options::default() });
        assert_eq!((merged.llm, merged.listen.as_deref()), (llm, Some("127.0.0.1:2")), "a list of the option wins as a whole");
    }

    #[test]
    fn an_invalid_option_is_a_problem_without_its_value() {
        let set = ["x=1", "convengine.", "convengine..a=hunter2"].map(str::to_owned).to_vec();
        let (merged, _, problems) = merge(&Options { set, ..Options::default() });
        assert!(merged.convengine.is_empty() && problems.len() == 3, "{problems:?}");
        assert!(problems[0].starts_with("--set x: invalid setting") && !problems[2].contains("hunter2"), "{problems:?}");
    }
}
