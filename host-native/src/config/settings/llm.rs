//! Language model settings: models, provider access, request parameters, prices and the spend cap.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::spend_cap::SpendCap;
use crate::config::secrets::Secrets;

/// Shorter keys are placeholders for local servers; redacting them would corrupt ordinary text.
const MIN_SECRET_LENGTH: usize = 8;

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
    /// Maximum attempts per model.
    pub max_attempts: u32,
    /// Maximum output tokens.
    pub max_tokens: u64,
    /// Sampling temperature, sent to models that accept it; absent for the model's default.
    pub temperature: Option<f64>,
    /// Prices by model.
    pub prices: BTreeMap<String, Price>,
    /// The spend cap.
    pub cap: Option<SpendCap>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Per million prompt tokens.
    pub input: u64,
    /// Per million completion tokens.
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
            max_attempts: 3,
            max_tokens: 4096,
            temperature: Some(0.0),
            prices: BTreeMap::new(),
            cap: None,
        }
    }
}

impl LlmSettings {
    /// Reads `convengine.llm` from a normalized tree and the environment; registers the API keys as secrets.
    pub fn from_tree(
        tree: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
        secrets: &mut Secrets,
        problems: &mut Vec<String>,
    ) -> LlmSettings {
        let variable = |name: &str| variable(name).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
        let mut key = |name: &str| {
            let key = variable(name)?;
            if key.len() >= MIN_SECRET_LENGTH {
                secrets.add(name, &key);
            }
            Some(ProviderKey(key))
        };
        let none = LlmSettings::default();
        let cap = SpendCap::from_tree(tree, problems);
        let mut reader = LlmReader { group: tree.get("llm"), problems };
        LlmSettings {
            model_specs: Vec::new(),
            openai: ProviderAccess { key: key("OPENAI_API_KEY"), address: variable("OPENAI_BASE_URL"), model: variable("OPENAI_MODEL") },
            anthropic: ProviderAccess {
                key: key("ANTHROPIC_API_KEY"),
                address: variable("ANTHROPIC_BASE_URL"),
                model: variable("ANTHROPIC_MODEL"),
            },
            ollama: ProviderAccess { key: None, address: variable("OLLAMA_HOST"), model: None },
            max_attempts: u32::try_from(reader.count("max-attempts", none.max_attempts.into(), 100)).unwrap_or(none.max_attempts),
            max_tokens: reader.count("max-tokens", none.max_tokens, 10_000_000),
            temperature: reader.temperature(none.temperature),
            prices: reader.prices(),
            cap,
        }
    }
}

/// Resolves the values of `--llm`: the option replaces `CONVENGINE_LLM`, which replaces the settings file.
pub(super) fn resolve_model_specs(option: &[String], file: Vec<String>) -> Vec<String> {
    let split =
        |text: &str| -> Vec<String> { text.split([',', '\n']).map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect() };
    if !option.is_empty() {
        return option.iter().map(|it| it.trim().to_owned()).collect();
    }
    let variable = split(&std::env::var("CONVENGINE_LLM").unwrap_or_default());
    if variable.is_empty() { file.iter().flat_map(|it| split(it)).collect() } else { variable }
}

struct LlmReader<'r> {
    group: Option<&'r Value>,
    problems: &'r mut Vec<String>,
}

impl<'r> LlmReader<'r> {
    fn member(&self, key: &str) -> Option<&'r Value> {
        self.group?.get(key).filter(|it| !it.is_null())
    }

    fn count(&mut self, key: &str, default: u64, max: u64) -> u64 {
        let Some(value) = self.member(key) else { return default };
        let count = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|it| (1..=max).contains(it));
        count.unwrap_or_else(|| {
            self.problems.push(format!("convengine.llm.{key}: {value} is not a whole number from 1 to {max}"));
            default
        })
    }

    fn temperature(&mut self, default: Option<f64>) -> Option<f64> {
        let Some(value) = self.member("temperature") else { return default };
        if value.as_str().is_some_and(|it| it.trim() == "none") {
            return None;
        }
        let found = parse_number(value).filter(|it| (0.0..=2.0).contains(it));
        if found.is_none() {
            let line = format!("convengine.llm.temperature: {value} is not a number from 0 to 2; set none to send no temperature");
            self.problems.push(line);
        }
        found.or(default)
    }

    fn prices(&mut self) -> BTreeMap<String, Price> {
        let Some(value) = self.member("prices") else { return BTreeMap::new() };
        let Some(entries) = value.as_object().cloned() else {
            self.problems
                .push(format!("convengine.llm.prices: {value} is not an object; set {{MODEL: {{\"input\": NUMBER, \"output\": NUMBER}}}}"));
            return BTreeMap::new();
        };
        let mut prices = BTreeMap::new();
        for (model, value) in entries {
            let part = |name: &str| value.get(name).and_then(parse_number).and_then(to_millionths);
            match (part("input"), part("output")) {
                (Some(input), Some(output)) => _ = prices.insert(model, Price { input, output }),
                _ => self.problems.push(format!(
                    "convengine.llm.prices.{model}: {value} is not a price; set {{\"input\": NUMBER, \"output\": NUMBER}} per million tokens"
                )),
            }
        }
        prices
    }
}

/// Reads a number, which may be a string in settings files of the original server.
pub(super) fn parse_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Converts to whole millionths, if the number is in the exact range.
pub(super) fn to_millionths(number: f64) -> Option<u64> {
    let millionths = (number * 1e6).round();
    // Far below the limit of exact integers in a float.
    if (0.0..=1e15).contains(&millionths) { Some(millionths as u64) } else { None }
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
    use super::*;
    use serde_json::json;

    fn read(tree: &Value, variables: &[(&str, &str)]) -> (LlmSettings, Secrets, Vec<String>) {
        let (mut secrets, mut problems) = (Secrets::default(), Vec::new());
        let variable = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| it.1.to_owned());
        let llm = LlmSettings::from_tree(tree, &variable, &mut secrets, &mut problems);
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
        let paths: Vec<&str> = problems.iter().filter_map(|it| it.split(": ").next()).collect();
        assert_eq!(paths, ["convengine.llm.max-tokens", "convengine.llm.prices.y"]);
        for tree in [json!({"llm": {"temperature": 7}}), json!({"llm": {"prices": "cheap"}})] {
            assert_eq!(read(&tree, &[]).2.len(), 1, "{tree}");
        }
    }

    #[test]
    fn costs_are_rounded_half_up() {
        let price = Price { input: 150_000, output: 600_000 };
        assert_eq!([(10, 0), (3, 0), (4, 0), (0, 1), (1_000_000, 1_000_000)].map(|it| price.cost(it.0, it.1)), [2, 0, 1, 1, 750_000]);
        assert_eq!(Price { input: u64::MAX, output: u64::MAX }.cost(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn a_list_of_the_option_wins_as_a_whole() {
        let option = ["openai:a".to_owned(), "scripted:x,y.json".to_owned()];
        let file = || vec!["policy=off, ollama:b\nopenai".to_owned(), "off".to_owned()];
        assert_eq!(resolve_model_specs(&option, file()), option);
        assert_eq!(resolve_model_specs(&[], file()), ["policy=off", "ollama:b", "openai", "off"]);
    }
}
