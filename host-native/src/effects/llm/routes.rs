//! Parses `--llm`: which model answers which calls.

use std::sync::atomic::AtomicBool;

use reqwest::Client;

use super::purpose::{EMBED, all_names, is_known};
use super::remote::{Protocol, RemoteModel};
use super::scripted::ScriptedModel;
use crate::config::settings::{LlmSettings, ProviderAccess};
use crate::effects::tls;
use crate::exit::Failure;

const MODEL_FORMS: &str = "scripted:FILE, openai[:MODEL], anthropic[:MODEL], ollama:MODEL or off";
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
            Model::Remote(remote) => (remote.protocol.name(), &remote.model),
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
    let (seats, problems): (Vec<_>, Vec<_>) = llm.model_specs.iter().map(|it| parse_route(it, llm)).partition(Result::is_ok);
    let seats: Vec<ModelRoute> = seats.into_iter().filter_map(Result::ok).collect();
    let mut problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
    for off in seats.iter().filter(|it| matches!(it.model, Model::Off)) {
        if seats.iter().filter(|it| it.purpose == off.purpose).count() > 1 {
            let calls = off.purpose.as_deref().unwrap_or("the default");
            problems.push(format!("--llm off: {calls} also has a model; remove one of the two"));
        }
    }
    for model in seats.iter().filter(|_| llm.cap.is_some()).filter_map(|it| if let Model::Remote(it) = &it.model { Some(it) } else { None })
    {
        if !llm.prices.contains_key(&model.model) {
            problems.push(format!(
                "--llm {}:{}: the model has no price, which convengine.llm.spend-cap requires; add it to convengine.llm.prices",
                model.protocol.name(),
                model.model
            ));
        }
    }
    problems.dedup();
    if problems.is_empty() { Ok(seats) } else { Err(Failure { code: 2, lines: problems }) }
}

fn parse_route(word: &str, llm: &LlmSettings) -> Result<ModelRoute, String> {
    // An equals sign after the first colon belongs to the name of a file or a model.
    let (duty, model) = match word.split_once('=') {
        Some((duty, model)) if !duty.contains(':') => (Some(duty.trim()), model.trim()),
        Some(_) | None => (None, word.trim()),
    };
    if let Some(duty) = duty.filter(|it| !is_known(it)) {
        let known: Vec<&str> = all_names().collect();
        return Err(format!("--llm {word}: unknown purpose '{duty}'; use one of {}", known.join(", ")));
    }
    let (kind, name) = model.split_once(':').map_or((model, None), |it| (it.0, Some(it.1).filter(|it| !it.is_empty())));
    let model = match (kind, name) {
        ("off", None) => Model::Off,
        ("scripted", Some(file)) => Model::Scripted(ScriptedModel::read(file)?),
        ("openai", name) => build_remote(Protocol::OpenAi, name, &llm.openai)?,
        ("anthropic", _) if duty == Some(EMBED) => {
            return Err(format!("--llm {word}: anthropic has no embeddings; use openai or ollama"));
        }
        ("anthropic", name) => build_remote(Protocol::Anthropic, name, &llm.anthropic)?,
        ("ollama", name) => build_remote(Protocol::Ollama, name, &llm.ollama)?,
        _ => return Err(format!("--llm {word}: unknown model '{model}'; use {MODEL_FORMS}")),
    };
    Ok(ModelRoute { purpose: duty.map(str::to_owned), model })
}

fn build_remote(protocol: Protocol, name: Option<&str>, access: &ProviderAccess) -> Result<Model, String> {
    let kind = protocol.name();
    let Some(model) = name.map(str::to_owned).or_else(|| access.model.clone()) else {
        let variable = if protocol == Protocol::Ollama { String::new() } else { format!(" or set {}_MODEL", kind.to_uppercase()) };
        return Err(format!("--llm {kind}: missing model; write {kind}:MODEL{variable}"));
    };
    let address = resolve_address(protocol, access.address.as_deref())?;
    if access.key.is_none() && [OPENAI, ANTHROPIC].contains(&address.as_str()) {
        let kind = kind.to_uppercase();
        return Err(format!("{kind}_API_KEY is not set; set it, or set {kind}_BASE_URL to a server that needs no key"));
    }
    let client = build_client(&address)?;
    let key = access.key.clone();
    Ok(Model::Remote(Box::new(RemoteModel {
        protocol,
        model,
        address,
        key,
        client,
        rejects_temperature: AtomicBool::new(false),
        uses_completion_tokens: AtomicBool::new(false),
    })))
}

fn resolve_address(protocol: Protocol, configured: Option<&str>) -> Result<String, String> {
    let (variable, public) = match protocol {
        Protocol::OpenAi => ("OPENAI_BASE_URL", OPENAI),
        Protocol::Anthropic => ("ANTHROPIC_BASE_URL", ANTHROPIC),
        Protocol::Ollama => ("OLLAMA_HOST", OLLAMA),
    };
    let given = configured.unwrap_or(public).trim_end_matches('/');
    let address = match protocol {
        Protocol::OpenAi => given.to_owned(),
        Protocol::Anthropic => given.trim_end_matches("/v1").to_owned(),
        // The forms that Ollama accepts for this variable.
        Protocol::Ollama if !given.contains("://") => {
            let port = if given.rsplit_once(':').is_some_and(|it| it.1.parse::<u16>().is_ok()) { "" } else { ":11434" };
            format!("http://{given}{port}")
        }
        Protocol::Ollama => given.to_owned(),
    };
    // The value is not shown: it may contain a password.
    let wrong = |reason: &str| Err(format!("{variable}: {reason}; use http://HOST:PORT or https://HOST"));
    match reqwest::Url::parse(&address) {
        Ok(it) if !["http", "https"].contains(&it.scheme()) || !it.has_host() => wrong("invalid URL"),
        // Credentials in the URL would replace the key, and would not be scrubbed from responses.
        Ok(it) if !it.username().is_empty() || it.password().is_some() => wrong("URL contains a user or a password"),
        Ok(_) => Ok(address),
        Err(_) => wrong("invalid URL"),
    }
}

fn build_client(address: &str) -> Result<Client, String> {
    let client = tls::client_for(address).connect_timeout(super::CONNECT_TIMEOUT).build();
    client.map_err(|it| format!("cannot create a client for the model: {}", super::failure::ModelFailure::unreachable(it).error.message))
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
            assert_eq!(resolve_address(protocol, given).as_deref(), Ok(address_of));
        }
        for given in ["ftp://user:hidden@x", "https://user:hidden@x", "https://hidden@x", "nowhere", "http://", "/v1"] {
            let line = resolve_address(Protocol::OpenAi, Some(given)).expect_err("no address");
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
}
