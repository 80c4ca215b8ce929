//! Language model settings: models, provider access, request parameters, prices and the spend cap.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::groups::groups;
use super::llm_providers::{self, NamedProviders, ProviderTree};
use super::spend_cap::SpendCap;
use super::value::{millionths, scalar, whole};
use crate::secrets::Secrets;

/// Shorter keys are placeholders for local servers; redacting them would corrupt ordinary text.
pub(super) const MIN_SECRET_LENGTH: usize = 8;

/// Settings from `--llm`, the environment and `convengine.llm`.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmSettings {
    /// The values of `--llm` in order.
    pub model_specs: Vec<String>,
    /// OpenAI or a compatible server.
    pub openai: ProviderAccess,
    /// Anthropic or a compatible server.
    pub anthropic: ProviderAccess,
    /// Ollama.
    pub ollama: ProviderAccess,
    /// Providers with names of their own.
    pub providers: NamedProviders,
    /// Maximum attempts per model.
    pub max_attempts: u32,
    /// How long a call may take.
    pub timeouts: LlmTimeouts,
    /// Maximum output tokens.
    pub max_tokens: u64,
    /// Sampling temperature, sent to models that accept it; absent for the model's default.
    pub temperature: Option<f64>,
    /// Prices by model, or by `PROVIDER:MODEL`.
    pub prices: BTreeMap<String, Price>,
    /// The spend cap.
    pub cap: Option<SpendCap>,
}

/// How long a call of a model may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlmTimeouts {
    /// With all attempts and all models.
    pub call: Duration,
    /// Until a model begins to answer, or has answered when the answer is not streamed.
    pub response: Duration,
    /// Between two parts of a streamed answer.
    pub idle: Duration,
}

impl Default for LlmTimeouts {
    fn default() -> LlmTimeouts {
        LlmTimeouts { call: Duration::from_secs(60), response: Duration::from_secs(30), idle: Duration::from_secs(20) }
    }
}

/// How to reach a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderAccess {
    /// The base URL, if it is not the public one.
    pub address: Option<String>,
    /// The API key.
    pub key: Option<ProviderKey>,
    /// The default model.
    pub model: Option<String>,
}

/// An API key. Debug output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(pub String);

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The price of a million tokens, in millionths of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Per million prompt tokens.
    #[serde(deserialize_with = "millionths")]
    pub input: u64,
    /// Per million completion tokens.
    #[serde(deserialize_with = "millionths")]
    pub output: u64,
}

impl Default for LlmSettings {
    fn default() -> Self {
        let (openai, anthropic, ollama) = (ProviderAccess::default(), ProviderAccess::default(), ProviderAccess::default());
        LlmSettings {
            model_specs: Vec::new(),
            openai,
            anthropic,
            ollama,
            providers: NamedProviders::new(),
            max_attempts: 3,
            timeouts: LlmTimeouts::default(),
            max_tokens: 4096,
            temperature: Some(0.0),
            prices: BTreeMap::new(),
            cap: None,
        }
    }
}

groups! {
    /// `llm.*`
    pub(super) struct LlmTree {
        max_attempts: u32 as "whole::<_, _, 1, 100>" = LlmSettings::default().max_attempts,
        timeout: Duration as "scalar" = LlmTimeouts::default().call,
        response_timeout: Duration as "scalar" = LlmTimeouts::default().response,
        idle_timeout: Duration as "scalar" = LlmTimeouts::default().idle,
        max_tokens: u64 as "whole::<_, _, 1, 10_000_000>" = LlmSettings::default().max_tokens,
        temperature: Option<f64> as "temperature" = LlmSettings::default().temperature,
        prices: BTreeMap<String, Price>,
        pub(super) providers: BTreeMap<String, ProviderTree>,
        pub(super) spend_cap: Option<SpendCap>,
    }
}

/// Deserializes a temperature; `none` sends none.
fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text: String = scalar(deserializer)?;
    if text == "none" {
        return Ok(None);
    }
    let found = text.parse().ok().filter(|it| (0.0..=2.0).contains(it));
    let message = || format!("'{text}' is not a number from 0 to 2; set one, or none to send no temperature");
    found.map(Some).ok_or_else(|| D::Error::custom(message()))
}

impl LlmSettings {
    /// Whether `--llm` says that there is no model. False when nothing is said: a command need not have the settings of the server.
    pub fn is_off(&self) -> bool {
        let is_off = |spec: &String| match spec.split_once('=') {
            // Behind a colon it belongs to the name of a file.
            Some((purpose, model)) if !purpose.contains(':') => model.trim() == "off",
            Some(_) | None => spec.trim() == "off",
        };
        !self.model_specs.is_empty() && self.model_specs.iter().all(is_off)
    }

    /// Combines `convengine.llm` with the environment; registers the API keys as secrets.
    pub(super) fn new(
        tree: LlmTree,
        model_specs: Vec<String>,
        variable: &dyn Fn(&str) -> Option<String>,
        secrets: &mut Secrets,
        problems: &mut Vec<String>,
    ) -> LlmSettings {
        let providers = llm_providers::read(tree.providers, secrets, problems);
        let variable = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let mut key = |name: &str| {
            let key = variable(name)?;
            if key.len() >= MIN_SECRET_LENGTH {
                secrets.add(name, &key);
            }
            Some(ProviderKey(key))
        };
        LlmSettings {
            model_specs,
            openai: ProviderAccess { key: key("OPENAI_API_KEY"), address: variable("OPENAI_BASE_URL"), model: variable("OPENAI_MODEL") },
            anthropic: ProviderAccess {
                key: key("ANTHROPIC_API_KEY"),
                address: variable("ANTHROPIC_BASE_URL"),
                model: variable("ANTHROPIC_MODEL"),
            },
            ollama: ProviderAccess { key: None, address: variable("OLLAMA_HOST"), model: None },
            providers,
            max_attempts: tree.max_attempts,
            timeouts: LlmTimeouts { call: tree.timeout, response: tree.response_timeout, idle: tree.idle_timeout },
            max_tokens: tree.max_tokens,
            temperature: tree.temperature,
            prices: tree.prices,
            cap: tree.spend_cap,
        }
    }
}

impl LlmSettings {
    /// Returns the price of a provider's model: that of `PROVIDER:MODEL`, else that of the model.
    pub fn price(&self, provider: &str, model: &str) -> Option<Price> {
        self.prices.get(&format!("{provider}:{model}")).or_else(|| self.prices.get(model)).copied()
    }
}

impl Price {
    /// The cost of a call in millionths, rounded half up.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let cost = part(input_tokens, self.input).saturating_add(part(output_tokens, self.output)).saturating_add(500_000) / 1_000_000;
        u64::try_from(cost).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    fn read(tree: &Value, variables: &[(&str, &str)]) -> (LlmSettings, Secrets, Vec<String>) {
        let (tree, mut problems) = read_test_tree(tree);
        let mut secrets = Secrets::default();
        let variable = |name: &str| variables.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        let llm = LlmSettings::new(tree.llm, Vec::new(), &variable, &mut secrets, &mut problems);
        (llm, secrets, problems)
    }

    #[test]
    fn keys_are_secrets_and_placeholder_keys_are_not() {
        let variables = [("OPENAI_API_KEY", " sk-0123456789\n"), ("ANTHROPIC_API_KEY", "none"), ("OPENAI_BASE_URL", " ")];
        let (llm, secrets, _) = read(&json!({}), &variables);
        assert_eq!(secrets.scrub("sk-0123456789 or none"), "[secret:OPENAI_API_KEY] or none");
        assert_eq!(
            (llm.openai.key, llm.anthropic.key),
            (Some(ProviderKey("sk-0123456789".to_owned())), Some(ProviderKey("none".to_owned())))
        );
        assert_eq!(llm.openai.address, None);
        assert_eq!(format!("{:?}", ProviderKey("sk".to_owned())), "[key]");
    }

    #[test]
    fn settings_have_defaults_and_each_invalid_one_is_reported() {
        assert_eq!(read(&json!({}), &[]).0, LlmSettings::default());
        let price = json!({"Model-X": {"input": 0.15, "output": "0.6"}, "y": {"input": -1, "output": 1}});
        let tree = json!({"llm": {"max-attempts": "2", "max-tokens": 0, "temperature": "none", "prices": price}});
        let (llm, _, problems) = read(&tree, &[]);
        assert_eq!((llm.max_attempts, llm.max_tokens, llm.temperature), (2, 4096, None));
        assert_eq!(llm.prices, BTreeMap::from([("Model-X".to_owned(), Price { input: 150_000, output: 600_000 })]));
        let paths: Vec<&str> = problems.iter().filter_map(|problem| problem.split(": ").next()).collect();
        assert_eq!(paths, ["convengine.llm.max-tokens", "convengine.llm.prices.y.input"]);
        for tree in [json!({"llm": {"temperature": 7}}), json!({"llm": {"prices": "cheap"}})] {
            assert_eq!(read(&tree, &[]).2.len(), 1, "{tree}");
        }
    }

    #[test]
    fn no_model_is_off_only_if_that_is_said() {
        for (specs, expected) in [
            (vec![], false),
            (vec!["off"], true),
            (vec!["policy=off", " off "], true),
            (vec!["off", "policy=ollama:a"], false),
            (vec!["scripted:a=off"], false),
        ] {
            let model_specs = specs.iter().map(|spec| (*spec).to_owned()).collect();
            assert_eq!(LlmSettings { model_specs, ..LlmSettings::default() }.is_off(), expected, "{specs:?}");
        }
    }

    #[test]
    fn costs_are_rounded_half_up() {
        let price = Price { input: 150_000, output: 600_000 };
        assert_eq!([(10, 0), (3, 0), (4, 0), (0, 1), (1_000_000, 1_000_000)].map(|it| price.cost(it.0, it.1)), [2, 0, 1, 1, 750_000]);
        assert_eq!(Price { input: u64::MAX, output: u64::MAX }.cost(u64::MAX, u64::MAX), u64::MAX);
    }
}
