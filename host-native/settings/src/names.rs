//! The names of all settings, and what is said about an unknown one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use convengine_core::config::settings::Settings as CoreSettings;
use figment::Figment;
use figment::error::Kind;
use figment::providers::Serialized;
use serde_json::{Map, Value, json};

use super::sources::SettingSources;
use super::tree::HostTree;
use super::value::problem;

/// Settings that are maps, whose keys are data.
pub(super) const MAPS: [&str; 10] = [
    "flow.interaction-policy.matrix",
    "flow.state-graph.allowed-transitions",
    "mcp.guardrail.allowed-next-by-current-tool",
    "mcp.db.preflight.value-mappings",
    "mcp.servers",
    "files.roots",
    "llm.prices",
    "llm.providers",
    "secrets",
    "tables",
];

/// Settings and groups of ConvEngine that have no effect here (docs/reference/settings.md#accepted-without-effect).
pub const WITHOUT_EFFECT: [&str; 32] = [
    "audit.rate-limit",
    "audit.dispatch",
    "audit.persistence.jdbc-batch-size",
    "audit.persistence.max-buffered-events",
    "audit.persistence.flush-stages",
    "audit.persistence.final-step-names",
    "audit.persistence.flush-on-stop-outcome",
    "mcp.planner-max-observation-chars",
    "mcp.db.sql-guardrail-table",
    "mcp.db.query",
    "mcp.db.semantic",
    "mcp.db.preflight.enabled",
    "mcp.db.preflight.strict-schema",
    "mcp.db.preflight.coerce-numeric",
    "mcp.db.preflight.value-mappings",
    "mcp.db.preflight.semantic",
    "transport.stomp.app-destination-prefix",
    "transport.stomp.topic-prefix",
    "transport.stomp.broker",
    "experimental",
    "persistence",
    "demo",
    "llm.provider",
    "llm.openai",
    "llm.lmstudio",
    // Its sample has these one level too high, where it does not read them either.
    "interaction-policy",
    "action-lifecycle",
    "tool-orchestration",
    "disambiguation",
    "guardrail",
    "state-graph",
    "memory",
];

/// How similar a name must be to be meant, from 0 to 1.
const SIMILAR: f64 = 0.6;

/// Returns the names of the settings that the server reads itself.
///
/// They are declared once, as members of `HostTree`: asked to read a member that cannot exist, serde lists the members that do.
pub fn host_names() -> Vec<String> {
    let mut names = Vec::new();
    collect_names(&[], &mut names);
    names
}

fn collect_names(path: &[&str], names: &mut Vec<String>) {
    match members(path) {
        Some(members) => members.iter().for_each(|name| collect_names(&[path, &[*name]].concat(), names)),
        None => names.push(path.join(".")),
    }
}

/// The members of a group; `None` for a setting.
fn members(path: &[&str]) -> Option<&'static [&'static str]> {
    const IMPOSSIBLE: &str = "?";
    let tree = path.iter().rev().fold(json!({IMPOSSIBLE: null}), |inner, it| json!({*it: inner}));
    match Figment::from(Serialized::defaults(tree)).extract::<HostTree>() {
        Err(error) => match error.kind {
            Kind::UnknownField(name, members) if name == IMPOSSIBLE => Some(members),
            _ => None,
        },
        Ok(_) => None,
    }
}

/// Returns the names of all settings.
pub(super) fn all_names() -> &'static [String] {
    /// Collected once, because each member is found by reading a tree that is wrong there.
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let of_core = CoreSettings::known_keys();
        host_names().into_iter().chain(of_core.into_iter().map(|key| key.name.to_owned())).collect()
    });
    &NAMES
}

/// Whether a name is that of a setting or of a group.
pub(super) fn is_known(name: &str) -> bool {
    all_names().iter().any(|it| is_within(it, name))
}

/// Returns a tree without what the core reads and what has no effect: what remains are settings of the server, or unknown.
pub(super) fn without_others(tree: &Value) -> Map<String, Value> {
    let (core, names) = (CoreSettings::known_keys(), all_names());
    let known = KnownNames {
        is_other: &|name| core.iter().map(|key| key.name).chain(WITHOUT_EFFECT).any(|other| is_within(name, other)),
        is_known: &|name| names.iter().any(|setting| is_within(setting, name)) || MAPS.iter().any(|map| is_within(name, map)),
    };
    let mut rest = tree.clone();
    remove_others(&mut rest, "", &known);
    match rest {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// What is known of names.
struct KnownNames<'n> {
    /// Whether the core reads a setting, or it has no effect.
    is_other: &'n dyn Fn(&str) -> bool,
    /// Whether it is a setting, a group or the key of a map.
    is_known: &'n dyn Fn(&str) -> bool,
}

/// Removes the settings of others, and known ones without a value.
fn remove_others(node: &mut Value, path: &str, known: &KnownNames<'_>) {
    let Value::Object(members) = node else { return };
    members.retain(|key, value| {
        let name = join(path, key);
        if (known.is_other)(&name) {
            return false;
        }
        remove_others(value, &name, known);
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        !is_empty || !(known.is_known)(&name)
    });
}

/// Whether the keys below a setting are data, also below a tenant.
pub(super) fn is_map(name: &str) -> bool {
    let of_tenant = name.strip_prefix("tenants.").and_then(|it| it.split_once('.')).map(|it| it.1);
    MAPS.contains(&of_tenant.unwrap_or(name))
}

/// Whether a name is that of a setting or below it.
fn is_within(name: &str, setting: &str) -> bool {
    name.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The names of the values at or below a path.
pub(super) fn leaves_below(tree: &Map<String, Value>, path: &[String]) -> Vec<String> {
    let Some((first, rest)) = path.split_first() else { return Vec::new() };
    let value = rest.iter().try_fold(tree.get(first).unwrap_or(&Value::Null), |node, key| node.get(key));
    let mut leaves = Vec::new();
    collect_leaves(value.unwrap_or(&Value::Null), path.join("."), &mut leaves);
    leaves
}

fn collect_leaves(node: &Value, path: String, leaves: &mut Vec<String>) {
    match node {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(key, value)| collect_leaves(value, join(&path, key), leaves));
        }
        _ => leaves.push(path),
    }
}

/// The line about an unknown setting.
pub(super) fn unknown_setting(name: &str, sources: &SettingSources) -> String {
    let names = all_names();
    if names.iter().any(|other| other != name && is_within(other, name)) {
        return not_a_group(name);
    }
    let place = sources.find(name).map(|it| format!(" in {it}")).unwrap_or_default();
    match nearest(name, names) {
        Some(similar) => problem(name, format!("unknown setting{place}; did you mean convengine.{similar}?")),
        None => problem(name, format!("unknown setting{place}; correct its name or remove it")),
    }
}

/// The line about a single value where there has to be a group or a map. The value is not shown: it may contain a secret.
pub(super) fn not_a_group(name: &str) -> String {
    let members = all_names().iter().filter(|it| is_within(it, name));
    let members: Vec<String> = members
        .map(|name| if MAPS.contains(&name.as_str()) { format!("convengine.{name}.NAME") } else { format!("convengine.{name}") })
        .collect();
    problem(name, format!("a single value instead of a group of settings; set {}", members.join(" or ")))
}

/// Returns the known name that is most similar to a name.
pub(super) fn nearest(name: &str, names: &[String]) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let ancestors = |name: &'_ String| -> Vec<String> { name.match_indices('.').map(|(at, _)| name[..at].to_owned()).collect() };
    let groups: BTreeSet<String> = names.iter().flat_map(ancestors).collect();
    let similar = names.iter().chain(&groups).map(|known| {
        // What is below a map is data, and is kept.
        let depth = if MAPS.contains(&known.as_str()) { known.split('.').count().min(parts.len()) } else { parts.len() };
        let (named, data) = parts.split_at(depth);
        let score = strsim::normalized_damerau_levenshtein(&named.join(".").to_lowercase(), known);
        (score, [&[known.as_str()], data].concat().join("."))
    });
    // A name with the name of a map before it and wrong data behind it is similar to itself.
    similar.filter(|candidate| candidate.0 >= SIMILAR && candidate.1 != name).max_by(|a, b| a.0.total_cmp(&b.0)).map(|it| it.1)
}
