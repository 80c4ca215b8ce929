//! Names of models with their provider. (A005, A012)

use convengine_config::flow::DocumentIssue;

use super::PublishTarget;
use super::context::Location;

/// What begins a name with colons that names no provider: that of a model which OpenAI has fine-tuned.
const FINE_TUNED: &str = "ft";

/// The providers that a server has by `--llm`, each with what it needs beside the model.
const BUILT_IN: [(&str, &str); 3] =
    [("openai", "OPENAI_API_KEY or OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL"), ("ollama", "OLLAMA_HOST")];

/// Whether a name has the form `PROVIDER:MODEL` or `PROVIDER/MODEL`, with a provider that exists where these are known.
pub(super) fn names_provider(target: &PublishTarget<'_>, name: &str) -> bool {
    match target.providers {
        Some(providers) => split(name).any(|it| providers.contains_key(it.0)),
        None => split(name).next().is_some(),
    }
}

/// Reports a name of a provider that does not exist, of a model that its provider does not have, or of a provider without a model.
pub(super) fn check_name(target: &PublishTarget<'_>, name: &str, location: &Location) -> Option<DocumentIssue> {
    if let Some(model) = example_model(target, name) {
        let message = format!("'{name}' is the name of a provider, not of a model");
        return Some(location.clone().error("A005", message).with_fix(format!("write {name}:{model}, or omit 'model'")));
    }
    let providers = target.providers?;
    if let Some((found, model)) = split(name).find(|it| providers.contains_key(it.0)) {
        let models = &providers.get(found)?.models;
        let message = format!("the provider '{found}' has no model '{model}'");
        let fix = format!("use one of {}, or add it to convengine.llm.providers.{found}.models", models.join(", "));
        let is_missing = !models.is_empty() && !models.iter().any(|it| it == model);
        return is_missing.then(|| location.clone().error("A005", message).with_fix(fix));
    }
    let (prefix, model) = name.split_once(':').filter(|(prefix, model)| is_provider_name(prefix) && !model.is_empty())?;
    if let Some((_, variables)) = BUILT_IN.iter().find(|it| it.0 == prefix) {
        let message = format!("the server has no provider '{prefix}', so its first model is called with the name '{model}'");
        let fix = format!("start the server with --llm {prefix}:{model} and {variables}, or name a provider that it has");
        return Some(location.clone().warning("A012", message).with_fix(fix));
    }
    // Names of models may have a colon, too: tags of Ollama, for example.
    if providers.values().any(|it| it.has_tags) || prefix == FINE_TUNED {
        return None;
    }
    let message = format!("no provider '{prefix}' is configured, so the whole of '{name}' is taken as the name of a model");
    Some(location.clone().warning("A012", message).with_fix(format!("set convengine.llm.providers.{prefix}, or correct the name")))
}

/// Returns what to write after the colon of a name that is that of a provider alone.
fn example_model<'t>(target: &PublishTarget<'t>, name: &str) -> Option<&'t str> {
    let models = target.providers.and_then(|it| it.get(name)).map(|it| it.models.as_slice());
    let is_provider = models.is_some() || BUILT_IN.iter().any(|it| it.0 == name);
    is_provider.then(|| models.and_then(<[String]>::first).map_or("MODEL", String::as_str))
}

fn split(name: &str) -> impl Iterator<Item = (&str, &str)> {
    [':', '/'].into_iter().filter_map(move |it| name.split_once(it)).filter(|(prefix, model)| is_provider_name(prefix) && !model.is_empty())
}

fn is_provider_name(text: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || ['-', '_'].contains(&character);
    text.starts_with(|it: char| it.is_ascii_lowercase()) && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::flow::ModelProvider;

    fn issue(providers: &BTreeMap<String, ModelProvider>, name: &str) -> Option<DocumentIssue> {
        let target = PublishTarget { providers: Some(providers), ..PublishTarget::empty() };
        check_name(&target, name, &Location::default())
    }

    fn code(providers: &BTreeMap<String, ModelProvider>, name: &str) -> Option<&'static str> {
        issue(providers, name).map(|it| it.code)
    }

    #[test]
    fn an_unknown_provider_and_a_model_that_it_does_not_have_are_reported() {
        let groq = ModelProvider { models: vec!["llama-3".to_owned()], has_tags: false };
        let mut providers = BTreeMap::from([("openai".to_owned(), ModelProvider::default()), ("groq".to_owned(), groq)]);
        for (name, expected) in [
            ("groq:llama-3", None),
            ("groq/llama-3", None),
            ("groq:llama-4", Some("A005")),
            ("openai:gpt-5", None),
            ("grok:x", Some("A012")),
            ("ft:gpt-4o:org::id", None),
            ("gpt-5", None),
            ("meta-llama/llama-3", None),
            ("Qwen:7b", None),
        ] {
            assert_eq!(code(&providers, name), expected, "{name}");
        }
        providers.insert("ollama".to_owned(), ModelProvider { models: Vec::new(), has_tags: true });
        assert_eq!(code(&providers, "llama3:8b"), None, "a tag");
        let target = PublishTarget { providers: Some(&providers), ..PublishTarget::empty() };
        assert!(names_provider(&target, "groq:x") && !names_provider(&target, "grok:x") && !names_provider(&target, "slow"));
        assert!(names_provider(&PublishTarget::empty(), "grok:x"), "unknown providers may exist");
    }

    #[test]
    fn the_name_of_a_provider_alone_is_refused_with_what_to_write() {
        let groq = ModelProvider { models: vec!["llama-3".to_owned(), "qwen".to_owned()], has_tags: false };
        let providers = BTreeMap::from([("groq".to_owned(), groq), ("local".to_owned(), ModelProvider::default())]);
        for (name, fix) in [("groq", "write groq:llama-3"), ("local", "write local:MODEL"), ("openai", "write openai:MODEL")] {
            let found = issue(&providers, name).unwrap();
            assert!(found.code == "A005" && found.fix.as_ref().is_some_and(|it| it.starts_with(fix)), "{found}");
        }
        assert_eq!(check_name(&PublishTarget::empty(), "groq", &Location::default()), None, "it may be a model");
        assert!(check_name(&PublishTarget::empty(), "ollama", &Location::default()).is_some());
    }

    #[test]
    fn a_built_in_provider_that_is_missing_is_one_of_the_start() {
        for has_tags in [false, true] {
            let providers = BTreeMap::from([("groq".to_owned(), ModelProvider { models: Vec::new(), has_tags })]);
            let found = issue(&providers, "openai:gpt-5").unwrap();
            assert_eq!(found.code, "A012");
            assert!(found.fix.as_ref().is_some_and(|fix| fix.contains("--llm openai:gpt-5") && fix.contains("OPENAI_API_KEY")), "{found}");
        }
    }
}
