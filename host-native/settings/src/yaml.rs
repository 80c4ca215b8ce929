//! Reads the tree below `convengine` from the `application.yml` of the original server, as Spring would bind it.
//!
//! Keys may be in kebab-case, camelCase or snake_case and joined by dots; keys in brackets are data and stay unchanged. Later documents
//! override earlier ones; documents for a profile are skipped.

use convengine_core::config::settings::to_kebab_case;
use serde_json::{Map, Value};
use serde_saphyr::UserMessageFormatter;

use super::placeholder::{self, VariableLookup};
use super::{merge, names};

/// Parses the tree below `convengine` and resolves its placeholders; adds one line per problem.
pub(super) fn parse_application_yml(text: &str, variable: VariableLookup<'_>, problems: &mut Vec<String>) -> Map<String, Value> {
    let documents: Vec<Value> = match serde_saphyr::from_multiple(text) {
        Ok(documents) => documents,
        Err(error) => {
            problems.push(error.without_snippet().render_with_formatter(&UserMessageFormatter));
            return Map::new();
        }
    };
    let mut tree = Value::Object(Map::new());
    for document in documents {
        match expand_keys(&document, "") {
            Value::Object(mut document) if !has_profile(&document) => {
                problems.extend(document.keys().filter_map(|it| mistyped_root(it)));
                let ours = document.remove("convengine").unwrap_or(Value::Null);
                if ours.is_object() {
                    merge(&mut tree, ours);
                } else if !ours.is_null() {
                    problems.push(format!("convengine: {ours} is not a map"));
                }
            }
            Value::Object(_) | Value::Null => {}
            other => problems.push(format!("{other} is not a map; put the settings under the key convengine")),
        }
    }
    match placeholder::resolve_placeholders(tree, "convengine", variable, problems) {
        Value::Object(tree) => tree,
        _ => Map::new(),
    }
}

/// The line about a root that is nearly ours. Other roots belong to other programs.
fn mistyped_root(key: &str) -> Option<String> {
    const ROOT: &str = "convengine";
    let is_similar = key != ROOT && strsim::osa_distance(&key.replace(['-', '_'], "").to_lowercase(), ROOT) <= 2;
    is_similar.then(|| format!("{key}: unknown key; did you mean {ROOT}?"))
}

fn has_profile(document: &Map<String, Value>) -> bool {
    let spring = |keys: &[&str]| keys.iter().try_fold(document.get("spring")?, |node, key| node.get(key));
    spring(&["config", "activate"]).is_some() || spring(&["profiles"]).is_some_and(|it| it.is_string())
}

/// Expands joined keys and converts names to kebab-case; `path` is the location of the value.
fn expand_keys(value: &Value, path: &str) -> Value {
    match value {
        Value::Object(members) if !is_map(path) => {
            let mut tree = Value::Object(Map::new());
            for (key, value) in members {
                merge(&mut tree, nest_value(&split_key(key), value, path));
            }
            tree
        }
        other => other.clone(),
    }
}

/// Whether the keys below a path are data.
fn is_map(path: &str) -> bool {
    path.strip_prefix("convengine.").is_some_and(names::is_map)
}

fn nest_value(parts: &[String], value: &Value, path: &str) -> Value {
    let Some((first, rest)) = parts.split_first() else { return expand_keys(value, path) };
    let dot = if path.is_empty() { "" } else { "." };
    let path = format!("{path}{dot}{first}");
    // Within a map, the rest of a joined key is a single key.
    let inner = match rest.is_empty() || !is_map(&path) {
        true => nest_value(rest, value, &path),
        false => Value::Object(Map::from_iter([(rest.join("."), value.clone())])),
    };
    Value::Object(Map::from_iter([(first.clone(), inner)]))
}

/// Splits a key such as `a.b[C.D].e` at dots outside of brackets; parts keep their brackets.
fn split_key(key: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = key;
    while !rest.is_empty() {
        let in_brackets = rest.starts_with('[').then(|| rest.find(']')).flatten().map(|it| it + 1);
        let end = in_brackets.or_else(|| rest.find(['.', '[']).filter(|index| *index > 0)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(normalize_key(part));
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    parts
}

/// Normalizes `camelCase`, `snake_case` and `kebab-case`; keys in capitals or brackets are data.
fn normalize_key(part: &str) -> String {
    if !part.starts_with(|it: char| it.is_ascii_lowercase()) {
        return part.to_owned();
    }
    to_kebab_case(&part.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> (Value, Vec<String>) {
        let mut problems = Vec::new();
        let variable = |name: &str| (name == "MODE").then(|| "LLM_ONLY".to_owned());
        (Value::Object(parse_application_yml(text, &variable, &mut problems)), problems)
    }

    #[test]
    fn spellings_joined_keys_and_documents_come_together() {
        let (tree, problems) = read(
            "spring:\n  application: {name: shop}\nserver.port: 80\nconvengine:\n  flow:\n    dialogueAct:\n      resolute: ${MODE}\n      \
             llm_threshold: 0.5\n    interaction-policy:\n      matrix:\n        \"[PENDING_ACTION:AFFIRM]\": EXECUTE_PENDING_ACTION\n        \
             PENDING_SLOT:EDIT: FILL_PENDING_SLOT\n  audit: &a\n    enabled: yes\n---\nconvengine.flow.dialogue-act.llmThreshold: 0.75\n\
             convengine.mcp.guardrail.allowed-next-by-current-tool.db.query: [x]\n\
             ---\nspring.config.activate.on-profile: dev\nconvengine: {audit: {level: NONE}}\n---\nspring: {profiles: test}\nconvengine: {stream: false}\n",
        );
        assert_eq!(problems, [""; 0]);
        let expected = json!({
            "flow": {
                "dialogue-act": {"resolute": "LLM_ONLY", "llm-threshold": 0.75},
                "interaction-policy": {
                    "matrix": {"[PENDING_ACTION:AFFIRM]": "EXECUTE_PENDING_ACTION", "PENDING_SLOT:EDIT": "FILL_PENDING_SLOT"}
                }
            },
            "audit": {"enabled": true},
            "mcp": {"guardrail": {"allowed-next-by-current-tool": {"db.query": ["x"]}}}
        });
        assert_eq!(tree, expected);
    }

    #[test]
    fn keys_are_split_outside_of_brackets() {
        assert_eq!(split_key("a.bC.d_e[X.Y].f"), ["a", "b-c", "d-e", "[X.Y]", "f"]);
        assert_eq!(split_key("[a.b]"), ["[a.b]"]);
        assert_eq!(split_key("PENDING_SLOT:EDIT"), ["PENDING_SLOT:EDIT"]);
        assert_eq!(split_key("[open"), ["[open"]);
    }

    #[test]
    fn invalid_documents_are_reported() {
        for (text, words) in [
            ("convengine: 5\n", "convengine: 5 is not a map"),
            ("- a\n", "is not a map"),
            ("a: [\n", "line"),
            ("a: 1\na: 2\n", "duplicate"),
            ("convengine: {x: \"${NOWHERE}\"}\n", "convengine.x: "),
        ] {
            let (_, problems) = read(text);
            assert_eq!(problems.len(), 1, "{text}: {problems:?}");
            assert!(problems[0].contains(words), "{text}: {problems:?}");
        }
        assert_eq!(read(""), (json!({}), Vec::new()));
        assert_eq!(read("# nothing\n---\nserver: {port: 1}\n---\nconvengine:\n"), (json!({}), Vec::new()));
    }
}
