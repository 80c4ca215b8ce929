//! `convengine.*` settings: keys, defaults and reading. (docs/spec/pipeline.md#1.14, docs/spec/data-and-api.md#2.2)
//!
//! `camelCase` and `kebab-case` name the same key. For the settings of a step, a row of `ce_config` overrides the settings tree.

mod choice;
mod groups;
mod http;
mod reader;

use convengine_turn::Map;
use serde_json::Value;

use super::issue::Issue;
use super::profile::{PROFILES, Profile, V2};
use super::tables::ConfigRows;

pub use choice::{AuditLevel, DialogueActMode, InteractionDecision, Summarizer};
pub use groups::{
    ActionLifecycleSettings, AuditSettings, DisambiguationSettings, GuardrailSettings, InteractionSettings, MemorySettings,
    NextToolSettings, StateGraphSettings, ToolSettings,
};
pub use http::HttpPolicy;
use reader::SettingsReader;
pub use reader::{HOST_KEYS, IGNORED_KEYS, SettingKey};

/// The default of `input.max-chars`.
pub const DEFAULT_INPUT_MAX_CHARS: usize = 32_000;

/// The settings that the core and its hosts read. Part of a [`Config`](crate::Config), so that a turn keeps those that it was started with.
///
/// A value that cannot be read is an issue, and the default takes its place:
///
/// ```
/// use convengine_config::{Config, Tables};
/// use serde_json::json;
///
/// let tree = json!({"flow": {"queryRewrite": {"enabled": "off"}}, "input": {"max-chars": "many"}, "typo": 1});
/// let (config, issues) = Config::compile(&Tables::default(), &tree);
/// assert!(!config.settings.query_rewrite);
/// assert_eq!(config.settings.input_max_chars, 32_000);
/// assert!(issues.iter().any(|issue| issue.is_error() && issue.path == "convengine.input.max-chars"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// `pipeline.profile`
    pub profile: &'static Profile,
    /// `flow.dialogue-act.resolute`
    pub dialogue_act_mode: DialogueActMode,
    /// `flow.dialogue-act.llm-threshold`: minimum confidence at which the patterns decide without a model.
    pub llm_threshold: f64,
    /// `flow.query-rewrite.enabled`
    pub query_rewrite: bool,
    /// `flow.conversation-history.max-turns`
    pub history_max_turns: usize,
    /// `flow.interaction-policy.*`
    pub interaction: InteractionSettings,
    /// `flow.action-lifecycle.*`
    pub action_lifecycle: ActionLifecycleSettings,
    /// `flow.disambiguation.*`
    pub disambiguation: DisambiguationSettings,
    /// `flow.guardrail.*`
    pub guardrail: GuardrailSettings,
    /// `flow.state-graph.*`
    pub state_graph: StateGraphSettings,
    /// `flow.memory.*`
    pub memory: MemorySettings,
    /// `flow.tool-orchestration.enabled`, `mcp.*`
    pub tools: ToolSettings,
    /// `audit.*`
    pub audit: AuditSettings,
    /// `input.max-chars`: maximum characters of a message.
    pub input_max_chars: usize,
    /// `config.strict`: whether a configuration error aborts start-up.
    pub strict: bool,
}

impl Default for Settings {
    /// The settings of an empty tree.
    fn default() -> Settings {
        Settings::read(&Value::Null, &ConfigRows::default(), &mut Vec::new())
    }
}

impl Settings {
    /// Returns the settings that the core reads, in the order of their groups, for references and for the completion of editors.
    ///
    /// ```
    /// use convengine_config::settings::Settings;
    ///
    /// let keys = Settings::known_keys();
    /// let mode = keys.iter().find(|key| key.name == "flow.dialogue-act.resolute").ok_or("unknown")?;
    /// assert_eq!(mode.step, "DialogueActStep", "a row of ce_config with this type overrides it");
    /// # Ok::<(), &str>(())
    /// ```
    pub fn known_keys() -> Vec<SettingKey> {
        Settings::read_with_keys(&Value::Null, &ConfigRows::default(), &mut Vec::new()).1
    }

    pub(super) fn read(tree: &Value, rows: &ConfigRows, issues: &mut Vec<Issue>) -> Settings {
        Settings::read_with_keys(tree, rows, issues).0
    }

    fn read_with_keys(tree: &Value, rows: &ConfigRows, issues: &mut Vec<Issue>) -> (Settings, Vec<SettingKey>) {
        let mut reader = SettingsReader { tree, rows, issues, known_keys: Vec::new() };
        let profile = reader.choice("pipeline.profile", "", &PROFILES, &V2);
        let settings = Settings {
            profile,
            dialogue_act_mode: reader.choice(
                "flow.dialogue-act.resolute",
                "DialogueActStep",
                &choice::MODES,
                DialogueActMode::RegexThenLlm,
            ),
            llm_threshold: reader.number("flow.dialogue-act.llm-threshold", "DialogueActStep", 0.90),
            query_rewrite: reader.boolean("flow.query-rewrite.enabled", "", true),
            history_max_turns: reader.count("flow.conversation-history.max-turns", "", profile.history_max_turns),
            interaction: InteractionSettings::read(&mut reader),
            action_lifecycle: ActionLifecycleSettings::read(&mut reader),
            disambiguation: DisambiguationSettings::read(&mut reader),
            guardrail: GuardrailSettings::read(&mut reader),
            state_graph: StateGraphSettings::read(&mut reader),
            memory: MemorySettings::read(&mut reader),
            tools: ToolSettings::read(&mut reader),
            audit: AuditSettings::read(&mut reader),
            input_max_chars: reader.count("input.max-chars", "", DEFAULT_INPUT_MAX_CHARS),
            strict: reader.boolean("config.strict", "", false),
        };
        reader.warn_unknown(profile);
        (settings, reader.known_keys)
    }
}

/// Converts every key of a tree to kebab-case; keys in capitals are data and stay, and so do the members of settings whose names are data,
/// such as those of secrets.
pub fn normalize(tree: &Value) -> Value {
    match tree {
        Value::Object(members) => Value::Object(members.iter().map(|(key, value)| normalize_member(key, value)).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other.clone(),
    }
}

/// Settings whose member names are data.
const MAP_SETTINGS: [&str; 6] = ["matrix", "allowed-transitions", "allowed-next-by-current-tool", "secrets", "roots", "prices"];

fn normalize_member(key: &str, value: &Value) -> (String, Value) {
    let key = to_kebab_case(key);
    let value = if MAP_SETTINGS.contains(&key.as_str()) { value.clone() } else { normalize(value) };
    (key, value)
}

/// Converts a key to kebab-case; one that starts with a capital stays.
pub fn to_kebab_case(key: &str) -> String {
    if !key.starts_with(|c: char| c.is_ascii_lowercase()) {
        return key.to_owned();
    }
    key.chars().fold(String::new(), |mut out, c| {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
        out
    })
}

/// Parses a boolean, also from words such as `yes`, `off` or `1`; `None` for anything else, numbers included.
///
/// ```
/// use convengine_config::settings::{normalize, parse_bool};
/// use serde_json::json;
///
/// assert_eq!([json!(" Yes"), json!(false), json!(1)].map(|value| parse_bool(&value)), [Some(true), Some(false), None]);
/// assert_eq!(normalize(&json!({"audit": {"cacheInspector": true}})), json!({"audit": {"cache-inspector": true}}));
/// ```
pub fn parse_bool(value: &Value) -> Option<bool> {
    match value.as_str().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("true" | "1" | "yes" | "on") => Some(true),
        Some("false" | "0" | "no" | "off") => Some(false),
        Some(_) | None => value.as_bool(),
    }
}

/// The groups of a tree that affect turns, and so the hash of the configuration.
pub(super) fn core_settings(tree: &Value) -> Value {
    let groups = ["flow", "audit", "mcp", "pipeline"].into_iter().filter_map(|group| Some((group.to_owned(), tree.get(group)?.clone())));
    Value::Object(groups.collect::<Map>())
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Tables};
    use super::*;
    use serde_json::json;

    #[test]
    fn an_invalid_value_is_an_error_and_the_default_is_used() {
        let tree = json!({"flow": {"dialogueAct": {"resolute": "SOMETIMES", "llmThreshold": "high"}}, "input": {"maxChars": -1}});
        let (config, issues) = Config::compile(&Tables::default(), &tree);
        assert_eq!(config.settings.dialogue_act_mode, DialogueActMode::RegexThenLlm);
        assert_eq!((config.settings.llm_threshold, config.settings.input_max_chars), (0.90, 32_000));
        let paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
        let group = "convengine.flow.dialogue-act";
        assert_eq!(paths, [format!("{group}.resolute"), format!("{group}.llm-threshold"), "convengine.input.max-chars".to_owned()]);
    }

    #[test]
    fn an_older_name_is_a_warning_with_the_name_to_write() {
        let tree = json!({"outbound": {"allow": ["crm.local"]}, "network": {"allowPrivate": ["10.0.0.0/8"]}});
        let lines: Vec<String> = Config::compile(&Tables::default(), &tree).1.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["warning convengine.outbound.allow: is an older name; write convengine.network.allow-private instead"]);
    }

    #[test]
    fn unknown_keys_are_warnings_and_both_spellings_are_one() {
        let tree = json!({"flow": {"queryRewrite": {"enabled": false}, "typo": 1}, "mcp": {"db": {"query": {"mode": 3}}}});
        let (config, issues) = Config::compile(&Tables::default(), &tree);
        assert!(!config.settings.query_rewrite);
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("convengine.flow.typo: is not a known setting"), "{lines:?}");
        assert!(lines[1].contains("convengine.mcp.db.query.mode: has no effect"), "{lines:?}");
    }
}
