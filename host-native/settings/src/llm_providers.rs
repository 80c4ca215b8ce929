//! Named providers of language models: `convengine.llm.providers`.

use std::collections::BTreeMap;

use super::groups::groups;
use super::llm::{MIN_SECRET_LENGTH, ProviderAccess, ProviderKey};
use super::value::{FromText, choose, list, problem, scalar};
use crate::secrets::{Secrets, resolve};

/// Names with a meaning of their own in `--llm`.
const BUILT_IN: [&str; 5] = ["openai", "anthropic", "ollama", "scripted", "off"];

/// Named providers by name.
pub type NamedProviders = BTreeMap<String, NamedProvider>;

/// A provider with a name of its own, beside OpenAI, Anthropic and Ollama.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedProvider {
    /// The API that it speaks.
    pub kind: ProviderKind,
    /// How to reach it; its default model is the first of `models`.
    pub access: ProviderAccess,
    /// Its models; any without one.
    pub models: Vec<String>,
}

/// The API of a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI, or a compatible server.
    #[default]
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Ollama.
    Ollama,
}

impl FromText for ProviderKind {
    fn from_text(text: &str) -> Result<ProviderKind, String> {
        choose(text, &[("openai", ProviderKind::OpenAi), ("anthropic", ProviderKind::Anthropic), ("ollama", ProviderKind::Ollama)])
    }
}

groups! {
    /// `llm.providers.NAME.*`
    pub(super) struct ProviderTree {
        kind: ProviderKind as "scalar",
        #[serde(alias = "baseUrl")]
        base_url: Option<String> as "scalar",
        #[serde(alias = "apiKey")]
        api_key: Option<String> as "scalar",
        models: Vec<String> as "list",
    }
}

/// Reads the providers; registers their keys as secrets.
pub(super) fn read(trees: BTreeMap<String, ProviderTree>, secrets: &mut Secrets, problems: &mut Vec<String>) -> NamedProviders {
    let mut providers = NamedProviders::new();
    for (name, ProviderTree { kind, base_url, api_key, models }) in trees {
        if !is_valid_name(&name) {
            let reason = format!("not a name for a provider; use lower case letters, digits, - and _, and none of {}", BUILT_IN.join(", "));
            problems.push(problem(format_args!("llm.providers.{name}"), reason));
            continue;
        }
        let key = match api_key.as_deref().map(resolve).transpose() {
            Ok(key) => key,
            Err(reason) => {
                problems.push(problem(format_args!("llm.providers.{name}.api-key"), reason));
                continue;
            }
        };
        if let Some(key) = key.as_ref().filter(|key| key.len() >= MIN_SECRET_LENGTH) {
            secrets.add(&format!("llm.providers.{name}.api-key"), key);
        }
        let access = ProviderAccess { address: base_url, key: key.map(ProviderKey), model: models.first().cloned() };
        providers.insert(name, NamedProvider { kind, access, models });
    }
    providers
}

fn is_valid_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || ['-', '_'].contains(&letter);
    name.starts_with(|it: char| it.is_ascii_lowercase()) && name.chars().all(is_letter) && !BUILT_IN.contains(&name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    fn read_providers(providers: &Value) -> (NamedProviders, Secrets, Vec<String>) {
        let (tree, mut problems) = read_test_tree(&json!({"llm": {"providers": providers}}));
        let mut secrets = Secrets::default();
        let providers = read(tree.llm.providers, &mut secrets, &mut problems);
        (providers, secrets, problems)
    }

    #[test]
    fn each_provider_has_its_own_address_key_and_models() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "gsk-0123456789\n").unwrap();
        let key = format!("file:{}", file.path().display());
        let (providers, secrets, problems) = read_providers(&json!({
            "groq": {"base-url": "https://api.groq.com/openai/v1", "api-key": key, "models": ["llama-3", "qwen"]},
            "local": {"kind": "ollama", "baseUrl": "gpu-box"},
        }));
        assert_eq!(problems, [""; 0]);
        let groq = &providers["groq"];
        assert_eq!((groq.kind, groq.access.model.as_deref(), groq.models.len()), (ProviderKind::OpenAi, Some("llama-3"), 2));
        assert_eq!(groq.access.key, Some(ProviderKey("gsk-0123456789".to_owned())));
        assert_eq!(secrets.scrub("gsk-0123456789"), "[secret:llm.providers.groq.api-key]");
        let access = ProviderAccess { address: Some("gpu-box".to_owned()), key: None, model: None };
        assert_eq!(providers["local"], NamedProvider { kind: ProviderKind::Ollama, access, models: Vec::new() });
    }

    #[test]
    fn a_key_in_the_settings_and_a_wrong_name_are_problems() {
        for (providers, setting, hint) in [
            (json!({"groq": {"api-key": "gsk-0123456789"}}), "convengine.llm.providers.groq.api-key: ", "env:VARIABLE"),
            (json!({"openai": {"base-url": "x"}}), "convengine.llm.providers.openai: ", "none of openai"),
            (json!({"Groq": {"base-url": "x"}}), "convengine.llm.providers.Groq: ", "lower case"),
            (json!({"groq": {"kind": "grok"}}), "convengine.llm.providers.groq.kind: ", "openai"),
            (json!({"groq": {"url": "x"}}), "convengine.llm.providers.groq.url: ", ""),
        ] {
            let (_, _, problems) = read_providers(&providers);
            assert!(problems.len() == 1 && problems[0].starts_with(setting) && problems[0].contains(hint), "{problems:?}");
            assert!(!problems[0].contains("0123456789"), "{problems:?}");
        }
    }
}
