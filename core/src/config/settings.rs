//! `convengine.*` settings: keys, defaults and reading. (`spec/pipeline.md` 1.14, `spec/data-and-api.md` 2.2)
//!
//! `camelCase` and `kebab-case` name the same key. A row of `ce_config` wins over the tree for a step's settings.

use std::collections::BTreeMap;

use serde_json::Value;

use super::acts::Act;
use super::issue::Issue;
use super::tables::ConfigRows;
use crate::turn::Map;

/// When a model is asked for the dialogue act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogueActMode {
    /// Never.
    RegexOnly,
    /// When the words alone are not sure.
    RegexThenLlm,
    /// Always.
    LlmOnly,
}

const MODES: [(&str, DialogueActMode); 3] =
    [("REGEX_ONLY", DialogueActMode::RegexOnly), ("REGEX_THEN_LLM", DialogueActMode::RegexThenLlm), ("LLM_ONLY", DialogueActMode::LlmOnly)];

impl DialogueActMode {
    /// The spelling in settings and audits.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// What the interaction policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The intent is resolved from the message.
    ReclassifyIntent,
    /// The pending action is carried out.
    ExecutePendingAction,
    /// The pending action is dropped.
    RejectPendingAction,
    /// The message answers an open question.
    FillPendingSlot,
}

const DECISIONS: [(&str, Decision); 4] = [
    ("RECLASSIFY_INTENT", Decision::ReclassifyIntent),
    ("EXECUTE_PENDING_ACTION", Decision::ExecutePendingAction),
    ("REJECT_PENDING_ACTION", Decision::RejectPendingAction),
    ("FILL_PENDING_SLOT", Decision::FillPendingSlot),
];

impl Decision {
    /// The spelling in settings, parameters and audits.
    pub fn name(self) -> &'static str {
        DECISIONS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// How much is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLevel {
    /// Everything.
    All,
    /// Everything but the entering and leaving of steps.
    Standard,
    /// Stages that speak of an error, failure or rejection.
    ErrorOnly,
    /// Nothing.
    None,
}

const LEVELS: [(&str, AuditLevel); 4] =
    [("ALL", AuditLevel::All), ("STANDARD", AuditLevel::Standard), ("ERROR_ONLY", AuditLevel::ErrorOnly), ("NONE", AuditLevel::None)];

/// Which audit events are kept.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// Off keeps nothing.
    pub enabled: bool,
    /// How much is kept.
    pub level: AuditLevel,
    /// Stages to keep, in upper case, with `*` for anything; empty keeps all.
    pub include_stages: Vec<String>,
    /// Stages to drop.
    pub exclude_stages: Vec<String>,
    /// Intents to keep; empty keeps all.
    pub include_intents: Vec<String>,
    /// Intents to drop.
    pub exclude_intents: Vec<String>,
}

/// The settings that the core and its hosts read.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `flow.dialogue-act.resolute`
    pub dialogue_act_mode: DialogueActMode,
    /// `flow.dialogue-act.llm-threshold`: from this confidence on, words alone decide.
    pub llm_threshold: f64,
    /// `flow.query-rewrite.enabled`
    pub query_rewrite: bool,
    /// `flow.conversation-history.max-turns`
    pub history_max_turns: usize,
    /// `flow.interaction-policy.execute-pending-on-affirm`
    pub execute_pending_on_affirm: bool,
    /// `flow.interaction-policy.reject-pending-on-negate`
    pub reject_pending_on_negate: bool,
    /// `flow.interaction-policy.fill-pending-slot-on-non-new-request`
    pub fill_pending_slot: bool,
    /// `flow.interaction-policy.require-resolved-intent-and-state`
    pub require_resolved: bool,
    /// `flow.interaction-policy.matrix`: `SUBJECT:ACT` to a decision.
    pub interaction_matrix: BTreeMap<String, Decision>,
    /// `audit.*`
    pub audit: AuditSettings,
    /// `input.max-chars`: characters of a message.
    pub input_max_chars: usize,
    /// `config.strict`: an error in the configuration ends the start.
    pub strict: bool,
}

/// Keys that the server reads by itself.
const HOST_KEYS: [&str; 2] = ["database.synchronous", "security.mode"];

/// Keys of ConvEngine that this version accepts without effect.
const WITHOUT_EFFECT: [&str; 19] = [
    "flow.action-lifecycle",
    "flow.disambiguation",
    "flow.guardrail",
    "flow.tool-orchestration",
    "flow.state-graph",
    "flow.memory",
    "audit.persist-meta",
    "audit.cache-inspector",
    "audit.rate-limit",
    "audit.dispatch",
    "audit.persistence",
    "transport",
    "mcp",
    "tables",
    "schema",
    "experimental",
    "llm",
    "stream",
    "persistence",
];

impl Settings {
    pub(super) fn read(tree: &Value, rows: &ConfigRows, issues: &mut Vec<Issue>) -> Settings {
        let mut reader = Reader { tree, rows, issues, known: Vec::new() };
        let settings = Settings {
            dialogue_act_mode: reader.choice("flow.dialogue-act.resolute", "DialogueActStep", &MODES, DialogueActMode::RegexThenLlm),
            llm_threshold: reader.number("flow.dialogue-act.llm-threshold", "DialogueActStep", 0.90),
            query_rewrite: reader.boolean("flow.query-rewrite.enabled", "", true),
            history_max_turns: reader.count("flow.conversation-history.max-turns", 20),
            execute_pending_on_affirm: reader.boolean("flow.interaction-policy.execute-pending-on-affirm", INTERACTION, true),
            reject_pending_on_negate: reader.boolean("flow.interaction-policy.reject-pending-on-negate", INTERACTION, true),
            fill_pending_slot: reader.boolean("flow.interaction-policy.fill-pending-slot-on-non-new-request", INTERACTION, true),
            require_resolved: reader.boolean("flow.interaction-policy.require-resolved-intent-and-state", INTERACTION, true),
            interaction_matrix: reader.matrix("flow.interaction-policy.matrix", INTERACTION),
            audit: AuditSettings {
                enabled: reader.boolean("audit.enabled", "", true),
                level: reader.choice("audit.level", "", &LEVELS, AuditLevel::All),
                include_stages: reader.list("audit.include-stages"),
                exclude_stages: reader.list("audit.exclude-stages"),
                include_intents: reader.list("audit.include-intents"),
                exclude_intents: reader.list("audit.exclude-intents"),
            },
            input_max_chars: reader.count("input.max-chars", 32_000),
            strict: reader.boolean("config.strict", "", false),
        };
        reader.unknown();
        settings
    }
}

const INTERACTION: &str = "InteractionPolicyStep";

struct Reader<'r> {
    tree: &'r Value,
    rows: &'r ConfigRows,
    issues: &'r mut Vec<Issue>,
    known: Vec<&'static str>,
}

impl Reader<'_> {
    /// The value of the row of `ce_config` when there is one that can be read, else of the tree.
    fn read<T>(&mut self, key: &'static str, step: &str, expected: &str, parse: impl Fn(&Value) -> Option<T>) -> Option<T> {
        self.known.push(key);
        let name = key.rsplit('.').next().unwrap_or(key).replace('-', "_").to_uppercase();
        if let Some(row) = self.rows.value(step, &name).map(Value::from) {
            let parsed = parse(&row);
            if parsed.is_some() {
                return parsed;
            }
            let path = format!("ce_config[{step}/{name}].config_value");
            self.issues.push(Issue::error(path, format!("{row} is not {expected}"), "the settings count until it is corrected"));
        }
        let value = key.split('.').try_fold(self.tree, |node, part| node.get(part)).filter(|it| !it.is_null())?;
        let parsed = parse(value);
        if parsed.is_none() {
            let reason = format!("{value} is not {expected}");
            self.issues.push(Issue::error(format!("convengine.{key}"), reason, "correct the value"));
        }
        parsed
    }

    fn choice<T: Copy>(&mut self, key: &'static str, step: &str, names: &[(&str, T)], default: T) -> T {
        let words: Vec<&str> = names.iter().map(|it| it.0).collect();
        let parse = |value: &Value| {
            let text = value.as_str()?.trim();
            names.iter().find(|it| it.0.eq_ignore_ascii_case(text)).map(|it| it.1)
        };
        self.read(key, step, &format!("one of {}", words.join(", ")), parse).unwrap_or(default)
    }

    fn boolean(&mut self, key: &'static str, step: &str, default: bool) -> bool {
        let parse = |value: &Value| match value.as_str().map(|it| it.trim().to_ascii_lowercase()).as_deref() {
            Some("true" | "1" | "yes" | "on") => Some(true),
            Some("false" | "0" | "no" | "off") => Some(false),
            Some(_) | None => value.as_bool(),
        };
        self.read(key, step, "true or false", parse).unwrap_or(default)
    }

    fn number(&mut self, key: &'static str, step: &str, default: f64) -> f64 {
        let parse = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|it| it.is_finite());
        self.read(key, step, "a number", parse).unwrap_or(default)
    }

    fn count(&mut self, key: &'static str, default: usize) -> usize {
        let whole = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let parse = |value: &Value| whole(value).and_then(|it| usize::try_from(it).ok());
        self.read(key, "", "a whole number from 0", parse).unwrap_or(default)
    }

    fn list(&mut self, key: &'static str) -> Vec<String> {
        let parse = |value: &Value| -> Option<Vec<String>> {
            match value {
                Value::Array(items) => items.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
                Value::String(text) => Some(text.split(',').map(str::to_owned).collect()),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
            }
        };
        let texts = self.read(key, "", "a list of texts", parse).unwrap_or_default();
        texts.into_iter().map(|it| it.trim().to_uppercase()).filter(|it| !it.is_empty()).collect()
    }

    fn matrix(&mut self, key: &'static str, step: &str) -> BTreeMap<String, Decision> {
        let parse = |value: &Value| -> Option<BTreeMap<String, Decision>> {
            let of_text = value.as_str().and_then(|it| serde_json::from_str::<Value>(it).ok());
            let members = of_text.as_ref().unwrap_or(value).as_object()?;
            members.iter().map(|(name, decision)| cell(name, decision)).collect()
        };
        let expected = "a map such as {\"PENDING_ACTION:AFFIRM\": \"EXECUTE_PENDING_ACTION\"}";
        self.read(key, step, expected, parse).unwrap_or_default()
    }

    fn unknown(&mut self) {
        let mut leaves = Vec::new();
        collect(self.tree, String::new(), &mut leaves);
        let within = |leaf: &str, prefix: &str| leaf.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for leaf in leaves {
            let path = format!("convengine.{leaf}");
            if self.known.iter().chain(&HOST_KEYS).any(|it| within(&leaf, it)) {
                continue;
            }
            if WITHOUT_EFFECT.iter().any(|it| within(&leaf, it)) {
                self.issues.push(Issue::warning(path, "has no effect in this version", "remove it or leave it for later"));
            } else {
                self.issues.push(Issue::warning(path, "is no known setting", "correct its name or remove it"));
            }
        }
    }
}

/// One cell of the matrix: `SUBJECT:ACT`, with or without brackets, and a decision.
fn cell(name: &str, decision: &Value) -> Option<(String, Decision)> {
    let name = name.trim_matches(['[', ']']).trim().to_uppercase();
    let (subject, act) = name.split_once(':')?;
    let known = matches!(subject, "PENDING_ACTION" | "PENDING_SLOT" | "NONE") && Act::parse(act).is_some();
    let word = decision.as_str()?.trim();
    let (_, decision) = DECISIONS.iter().find(|it| it.0.eq_ignore_ascii_case(word)).filter(|_| known)?;
    Some((name, *decision))
}

fn collect(node: &Value, path: String, leaves: &mut Vec<String>) {
    let dot = if path.is_empty() { "" } else { "." };
    match node {
        Value::Object(members) => members.iter().for_each(|(key, value)| collect(value, format!("{path}{dot}{key}"), leaves)),
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => leaves.push(path),
    }
}

/// The tree with every key in kebab-case; keys in capitals are data and stay.
pub fn normalise(tree: &Value) -> Value {
    match tree {
        Value::Object(members) => Value::Object(members.iter().map(|(key, value)| (kebab(key), normalise(value))).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other.clone(),
    }
}

fn kebab(key: &str) -> String {
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

/// The groups of a tree that change what a turn does.
pub(super) fn of_the_core(tree: &Value) -> Value {
    let groups = ["flow", "audit"].into_iter().filter_map(|it| Some((it.to_owned(), tree.get(it)?.clone())));
    Value::Object(groups.collect::<Map>())
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Tables};
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bad_value_is_an_error_and_the_default_counts() {
        let tree = json!({"flow": {"dialogueAct": {"resolute": "SOMETIMES", "llmThreshold": "high"}}, "input": {"maxChars": -1}});
        let (config, issues) = Config::compile(&Tables::default(), &tree);
        assert_eq!(config.settings.dialogue_act_mode, DialogueActMode::RegexThenLlm);
        assert_eq!((config.settings.llm_threshold, config.settings.input_max_chars), (0.90, 32_000));
        let paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
        let group = "convengine.flow.dialogue-act";
        assert_eq!(paths, [format!("{group}.resolute"), format!("{group}.llm-threshold"), "convengine.input.max-chars".to_owned()]);
    }

    #[test]
    fn unknown_keys_are_warnings_and_both_spellings_are_one() {
        let tree = json!({"flow": {"queryRewrite": {"enabled": false}, "typo": 1}, "mcp": {"toolMaxLoops": 3}});
        let (config, issues) = Config::compile(&Tables::default(), &tree);
        assert!(!config.settings.query_rewrite);
        let lines: Vec<String> = issues.iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("convengine.flow.typo: is no known setting"), "{lines:?}");
        assert!(lines[1].contains("convengine.mcp.tool-max-loops: has no effect"), "{lines:?}");
    }
}
