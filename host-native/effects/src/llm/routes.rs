//! Parses `--llm`: which model answers which calls.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use convengine_core::lint::flow::ModelProvider;
use convengine_host_base::exit::Failure;
use convengine_host_base::tls;
use convengine_settings::{LlmSettings, NamedProvider, ProviderAccess, ProviderKind};
use reqwest::Client;

use super::purpose::{EMBED, all_names, is_known};
use super::remote::{Protocol, RemoteModel};
use super::scripted::ScriptedModel;

const MODEL_FORMS: &str = "scripted:FILE, openai[:MODEL], anthropic[:MODEL], ollama:MODEL or off";

/// Stands for the model of a provider that lists none.
pub const ANY_MODEL: &str = "*";

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com";
const OLLAMA: &str = "http://127.0.0.1:11434";

/// A configured model.
#[derive(Debug)]
pub enum Model {
    /// No model: the calls fail.
    Off,
    /// A fake with rules from a file.
    Scripted(ScriptedModel),
    /// A model behind an HTTP API.
    Remote(Box<RemoteModel>),
}

impl Model {
    /// Returns its provider and its name.
    pub fn names(&self) -> (&str, &str) {
        match self {
            Model::Off => ("off", "off"),
            Model::Scripted(_) => (SCRIPTED, SCRIPTED),
            Model::Remote(remote) => (&remote.provider, &remote.model),
        }
    }
}

/// The provider of scripted models.
pub const SCRIPTED: &str = "scripted";

/// A model and the calls that it answers.
#[derive(Debug)]
pub struct ModelRoute {
    /// A purpose or a group; `None` for all calls without a model of their own.
    pub purpose: Option<String>,
    /// The model.
    pub model: Model,
}

/// Parses the values of `--llm`.
///
/// # Errors
/// A usage failure with a line for each invalid value.
pub fn parse_routes(llm: &LlmSettings) -> Result<Vec<ModelRoute>, Failure> {
    let (routes, problems): (Vec<_>, Vec<_>) = llm.model_specs.iter().map(|it| parse_route(it, llm)).partition(Result::is_ok);
    let routes: Vec<ModelRoute> = routes.into_iter().filter_map(Result::ok).collect();
    let mut problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    for off in routes.iter().filter(|route| matches!(route.model, Model::Off)) {
        if routes.iter().filter(|it| it.purpose == off.purpose).count() > 1 {
            let calls = off.purpose.as_deref().unwrap_or("the default");
            problems.push(format!("--llm off: {calls} also has a model; remove one of the two"));
        }
    }
    for model in routes
        .iter()
        .filter(|_| llm.cap.is_some())
        .filter_map(|route| if let Model::Remote(remote) = &route.model { Some(remote) } else { None })
    {
        if llm.price(&model.provider, &model.model).is_none() {
            problems.push(format!(
                "--llm {}: the model has no price, which convengine.llm.spend-cap requires; add it to convengine.llm.prices",
                model.name(None)
            ));
        }
    }
    problems.dedup();
    if problems.is_empty() { Ok(routes) } else { Err(Failure { code: 2, lines: problems }) }
}

fn parse_route(word: &str, llm: &LlmSettings) -> Result<ModelRoute, String> {
    let (purpose, model) = split_word(word);
    if let Some(purpose) = purpose.filter(|it| !is_known(it)) {
        let known: Vec<&str> = all_names().collect();
        return Err(format!("--llm {word}: unknown purpose '{purpose}'; use one of {}", known.join(", ")));
    }
    let (kind, name) = model.split_once(':').map_or((model, None), |parts| (parts.0, Some(parts.1).filter(|name| !name.is_empty())));
    let model = match (kind, name) {
        ("off", None) => Model::Off,
        ("scripted", Some(file)) => Model::Scripted(ScriptedModel::read(file)?),
        (kind, name) => {
            let provider = find_provider(kind, llm).ok_or_else(|| unknown_model(word, model, llm))?;
            if provider.protocol == Protocol::Anthropic && purpose == Some(EMBED) {
                return Err(format!("--llm {word}: {kind} has no embeddings; use a provider that speaks the API of openai or ollama"));
            }
            provider.build_model(name)?
        }
    };
    Ok(ModelRoute { purpose: purpose.map(str::to_owned), model })
}

/// Splits a value of `--llm` into its purpose, if it has one, and its model.
fn split_word(word: &str) -> (Option<&str>, &str) {
    // An equals sign after the first colon belongs to the name of a file or a model.
    match word.split_once('=') {
        Some((purpose, model)) if !purpose.contains(':') => (Some(purpose.trim()), model.trim()),
        Some(_) | None => (None, word.trim()),
    }
}

fn find_provider<'s>(name: &'s str, llm: &'s LlmSettings) -> Option<Provider<'s>> {
    match name {
        "openai" => Some(Provider::built_in(Protocol::OpenAi, &llm.openai)),
        "anthropic" => Some(Provider::built_in(Protocol::Anthropic, &llm.anthropic)),
        "ollama" => Some(Provider::built_in(Protocol::Ollama, &llm.ollama)),
        name => llm.providers.get(name).map(|it| Provider::named(name, it)),
    }
}

fn unknown_model(word: &str, model: &str, llm: &LlmSettings) -> String {
    let named: Vec<String> = llm.providers.keys().map(|it| format!("{it}[:MODEL]")).collect();
    let named = if named.is_empty() { "a provider of convengine.llm.providers".to_owned() } else { named.join(", ") };
    format!("--llm {word}: unknown model '{model}'; use {MODEL_FORMS}, or {named}")
}

/// Creates the models of the named providers, which documents may name without a value of `--llm`. A provider that lists no model has no
/// model of its own.
///
/// # Errors
/// A usage failure with a line for each provider that cannot be used.
pub fn build_named(llm: &LlmSettings) -> Result<Vec<Model>, Failure> {
    let build = |(name, named): (&String, &NamedProvider)| {
        let model = named.access.model.clone().unwrap_or_else(|| ANY_MODEL.to_owned());
        Provider::named(name, named).build_remote(model)
    };
    let (built, problems): (Vec<_>, Vec<_>) = llm.providers.iter().map(build).partition(Result::is_ok);
    let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    if problems.is_empty() { Ok(built.into_iter().filter_map(Result::ok).collect()) } else { Err(Failure { code: 2, lines: problems }) }
}

/// Returns the providers that documents may name: those of the settings and those of `--llm`, each with the models that the settings list.
pub fn list_providers(llm: &LlmSettings) -> BTreeMap<String, ModelProvider> {
    let of_routes = llm.model_specs.iter().map(|it| split_word(it).1).filter_map(|spec| find_provider(spec.split(':').next()?, llm));
    let of_settings = llm.providers.iter().map(|(name, named)| Provider::named(name, named));
    let describe = |provider: Provider<'_>| {
        let models = provider.named.map(|named| named.models.clone()).unwrap_or_default();
        (provider.name.to_owned(), ModelProvider { models, has_tags: provider.protocol == Protocol::Ollama })
    };
    of_routes.chain(of_settings).map(describe).collect()
}

/// How a provider is named and reached.
struct Provider<'s> {
    name: &'s str,
    protocol: Protocol,
    access: &'s ProviderAccess,
    /// The settings of a named provider.
    named: Option<&'s NamedProvider>,
}

impl<'s> Provider<'s> {
    fn built_in(protocol: Protocol, access: &'s ProviderAccess) -> Provider<'s> {
        Provider { name: protocol.name(), protocol, access, named: None }
    }

    fn named(name: &'s str, named: &'s NamedProvider) -> Provider<'s> {
        let protocol = match named.kind {
            ProviderKind::OpenAi => Protocol::OpenAi,
            ProviderKind::Anthropic => Protocol::Anthropic,
            ProviderKind::Ollama => Protocol::Ollama,
        };
        Provider { name, protocol, access: &named.access, named: Some(named) }
    }

    /// The setting or variable of the base URL.
    fn address_setting(&self) -> String {
        match (self.named, self.protocol) {
            (Some(_), _) => format!("convengine.llm.providers.{}.base-url", self.name),
            (None, Protocol::OpenAi) => "OPENAI_BASE_URL".to_owned(),
            (None, Protocol::Anthropic) => "ANTHROPIC_BASE_URL".to_owned(),
            (None, Protocol::Ollama) => "OLLAMA_HOST".to_owned(),
        }
    }

    /// The model of a value of `--llm`.
    fn build_model(&self, name: Option<&str>) -> Result<Model, String> {
        let model = name.map(str::to_owned).or_else(|| self.access.model.clone());
        self.build_remote(model.ok_or_else(|| self.missing_model())?)
    }

    fn missing_model(&self) -> String {
        let name = self.name;
        let setting = match (self.named, self.protocol) {
            (Some(_), _) => format!(" or set convengine.llm.providers.{name}.models"),
            (None, Protocol::Ollama) => String::new(),
            (None, Protocol::OpenAi | Protocol::Anthropic) => format!(" or set {}_MODEL", name.to_uppercase()),
        };
        format!("--llm {name}: missing model; write {name}:MODEL{setting}")
    }

    fn build_remote(&self, model: String) -> Result<Model, String> {
        let name = self.name;
        let models = self.named.map(|it| it.models.clone()).unwrap_or_default();
        if !models.is_empty() && !models.contains(&model) {
            let known = models.join(", ");
            return Err(format!(
                "--llm {name}:{model}: the provider has no such model; use one of {known}, or add it to convengine.llm.providers.{name}.models"
            ));
        }
        let address = self.resolve_address()?;
        if self.access.key.is_none() && [OPENAI, ANTHROPIC].contains(&address.as_str()) {
            return Err(self.missing_key());
        }
        Ok(Model::Remote(Box::new(RemoteModel {
            provider: name.to_owned(),
            protocol: self.protocol,
            model,
            models,
            client: build_client(&address)?,
            address,
            key: self.access.key.clone(),
            rejects_temperature: AtomicBool::new(false),
            uses_completion_tokens: AtomicBool::new(false),
        })))
    }

    fn missing_key(&self) -> String {
        let name = self.name;
        if self.named.is_some() {
            return format!(
                "convengine.llm.providers.{name}.api-key is not set; set it to env:VARIABLE or file:PATH, or set base-url to a server that needs no key"
            );
        }
        let kind = name.to_uppercase();
        format!("{kind}_API_KEY is not set; set it, or set {kind}_BASE_URL to a server that needs no key")
    }

    fn resolve_address(&self) -> Result<String, String> {
        let public = match self.protocol {
            Protocol::OpenAi => OPENAI,
            Protocol::Anthropic => ANTHROPIC,
            Protocol::Ollama => OLLAMA,
        };
        let given = self.access.address.as_deref().unwrap_or(public).trim_end_matches('/');
        let address = match self.protocol {
            Protocol::OpenAi => given.to_owned(),
            Protocol::Anthropic => given.trim_end_matches("/v1").to_owned(),
            // The forms that Ollama accepts for this variable.
            Protocol::Ollama if !given.contains("://") => {
                let port = if given.rsplit_once(':').is_some_and(|parts| parts.1.parse::<u16>().is_ok()) { "" } else { ":11434" };
                format!("http://{given}{port}")
            }
            Protocol::Ollama => given.to_owned(),
        };
        // The value is not shown: it may contain a password.
        let wrong = |reason: &str| Err(format!("{}: {reason}; use http://HOST:PORT or https://HOST", self.address_setting()));
        match reqwest::Url::parse(&address) {
            Ok(it) if !["http", "https"].contains(&it.scheme()) || !it.has_host() => wrong("invalid URL"),
            // Credentials in the URL would replace the key, and would not be scrubbed from responses.
            Ok(it) if !it.username().is_empty() || it.password().is_some() => wrong("URL contains a user or a password"),
            Ok(_) => Ok(address),
            Err(_) => wrong("invalid URL"),
        }
    }
}

fn build_client(address: &str) -> Result<Client, String> {
    let client = tls::client_for(address).connect_timeout(super::CONNECT_TIMEOUT).build();
    client.map_err(|error| {
        format!("cannot create a client for the model: {}", super::failure::ModelFailure::unreachable(error).error.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(llm: &LlmSettings, words: &[&str]) -> Vec<String> {
        let words = words.iter().map(|it| (*it).to_owned()).collect();
        parse_routes(&LlmSettings { model_specs: words, ..llm.clone() }).map_or_else(|it| it.lines, |_| Vec::new())
    }

    #[test]
    fn unknown_values_are_answered_with_known_ones() {
        let none = LlmSettings::default();
        for (word, words) in [
            ("oracle", vec!["'oracle'", "scripted:FILE", "ollama:MODEL"]),
            ("", vec!["openai[:MODEL]"]),
            ("scripted", vec!["scripted:FILE"]),
            ("policy=", vec!["openai[:MODEL]"]),
            ("policies=off", vec!["'policies'", "policy", "sql_repair", "agent", "extraction", "embed"]),
            ("=off", vec!["extraction"]),
            ("scripted:none=x.json", vec!["none=x.json"]),
            ("openai", vec!["openai:MODEL", "OPENAI_MODEL"]),
            ("openai:", vec!["openai:MODEL"]),
            ("ollama", vec!["write ollama:MODEL"]),
            ("openai:x", vec!["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
            ("anthropic:x", vec!["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
            ("embed=anthropic:x", vec!["no embeddings"]),
        ] {
            let found = problems(&none, &[word]);
            assert_eq!(found.len(), 1, "{word}: {found:?}");
            assert!(words.iter().all(|it| found[0].contains(it)), "{word}: {words:?} in {found:?}");
        }
        assert_eq!(problems(&none, &["policy=off", "agent=off"]), [""; 0]);
        assert_eq!(problems(&none, &["off", "ollama:x"]).len(), 1);
        assert_eq!(problems(&none, &["oracle", "policies=off", "openai:x"]).len(), 3, "a line each");
    }

    #[test]
    fn addresses_are_accepted_in_the_form_of_each_provider() {
        for (protocol, given, address_of) in [
            (Protocol::OpenAi, None, OPENAI),
            (Protocol::OpenAi, Some("http://127.0.0.1:1/v1/"), "http://127.0.0.1:1/v1"),
            (Protocol::Anthropic, Some("https://proxy/anthropic/v1/"), "https://proxy/anthropic"),
            (Protocol::Ollama, None, OLLAMA),
            (Protocol::Ollama, Some("elsewhere"), "http://elsewhere:11434"),
            (Protocol::Ollama, Some("elsewhere:1"), "http://elsewhere:1"),
            (Protocol::Ollama, Some("https://elsewhere/"), "https://elsewhere"),
        ] {
            let access = ProviderAccess { address: given.map(str::to_owned), ..ProviderAccess::default() };
            assert_eq!(Provider::built_in(protocol, &access).resolve_address().as_deref(), Ok(address_of));
        }
        for given in ["ftp://user:hidden@x", "https://user:hidden@x", "https://hidden@x", "nowhere", "http://", "/v1"] {
            let access = ProviderAccess { address: Some(given.to_owned()), ..ProviderAccess::default() };
            let line = Provider::built_in(Protocol::OpenAi, &access).resolve_address().expect_err("no address");
            assert!(line.starts_with("OPENAI_BASE_URL: ") && !line.contains("hidden"), "{line}");
        }
    }

    #[test]
    fn a_private_server_needs_no_key() {
        let mut llm = LlmSettings::default();
        (llm.openai.address, llm.openai.model) = (Some("http://127.0.0.1:1".to_owned()), Some("x".to_owned()));
        assert_eq!(problems(&llm, &["openai", "extraction=openai:y", "ollama:z"]), [""; 0]);
        llm.openai.address = Some("nowhere".to_owned());
        assert_eq!(problems(&llm, &["openai", "extraction=openai:y"]).len(), 1, "one cause, one line");
    }

    #[test]
    fn a_named_provider_is_used_as_a_built_in_one() {
        let mut llm = LlmSettings::default();
        let groq = ProviderAccess { address: Some("http://127.0.0.1:1/v1".to_owned()), key: None, model: Some("llama-3".to_owned()) };
        llm.providers.insert(
            "groq".to_owned(),
            NamedProvider { kind: ProviderKind::OpenAi, access: groq, models: vec!["llama-3".to_owned(), "qwen".to_owned()] },
        );
        llm.providers.insert("claude".to_owned(), NamedProvider { kind: ProviderKind::Anthropic, ..NamedProvider::default() });
        assert_eq!(problems(&llm, &["groq", "extraction=groq:qwen", "embed=groq:llama-3"]), [""; 0]);
        for (word, words) in [
            ("groq:gpt", vec!["groq:gpt", "llama-3, qwen", "convengine.llm.providers.groq.models"]),
            ("grok:x", vec!["'grok:x'", "groq[:MODEL]"]),
            ("claude", vec!["claude:MODEL", "convengine.llm.providers.claude.models"]),
            ("claude:x", vec!["convengine.llm.providers.claude.api-key", "env:VARIABLE"]),
            ("embed=claude:x", vec!["no embeddings"]),
        ] {
            let found = problems(&llm, &[word]);
            assert!(found.len() == 1 && words.iter().all(|it| found[0].contains(it)), "{word}: {found:?}");
        }
        llm.model_specs =
            ["extraction=openai:x", "groq:qwen", "embed=ollama:a=b", "policy=off", "scripted:x.json"].map(str::to_owned).to_vec();
        let providers = list_providers(&llm);
        assert_eq!(providers.keys().collect::<Vec<_>>(), ["claude", "groq", "ollama", "openai"]);
        assert_eq!((providers["groq"].models.len(), providers["ollama"].has_tags, providers["openai"].has_tags), (2, true, false));
        let lines = build_named(&llm).expect_err("a provider without a key").lines;
        assert!(lines.len() == 1 && lines[0].starts_with("convengine.llm.providers.claude.api-key"), "{lines:?}");
    }
}
