//! The settings of a pack, which no import stores, because they belong to the servers.

use convengine_core::config::settings::normalize;
use convengine_host_base::shell::quote;
use serde_json::Value;

/// Says in one line what to do with the settings of a pack that the command or the server was not given itself; `None` without any.
pub fn describe(of_pack: &Value, given: &Value) -> Option<String> {
    let options: Vec<String> = find(of_pack, given).iter().map(|it| option(it)).collect();
    if options.is_empty() {
        return None;
    }
    Some(format!(
        "the settings of the pack are not imported, because they belong to the server: start it with {}, or write them into its settings \
         file (--settings FILE)",
        options.join(" ")
    ))
}

/// The option of a command. Only the value is quoted, so that the name can be read.
fn option(setting: &str) -> String {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    format!("--set {}={}", quote(name), quote(value))
}

/// Returns the settings, each as `convengine.KEY=VALUE`.
fn find(of_pack: &Value, given: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(&normalize(of_pack), Some(given), "convengine", &mut found);
    found
}

fn collect(wanted: &Value, given: Option<&Value>, key: &str, found: &mut Vec<String>) {
    match wanted {
        Value::Null => {}
        Value::Object(members) => {
            for (name, value) in members {
                collect(value, given.and_then(|it| it.get(name)), &format!("{key}.{name}"), found);
            }
        }
        // The environment has text where a pack has a number.
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) if given.map(text) == Some(text(wanted)) => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => found.push(format!("{key}={}", text(wanted))),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_the_command_was_not_given_are_found() {
        let of_pack = json!({
            "flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}, "queryRewrite": {"enabled": true}},
            "input": {"maxChars": 100}, "pipeline": {"profile": null}, "mcp": {"tools": ["a b"]},
        });
        let given = json!({"flow": {"query-rewrite": {"enabled": "true"}, "dialogue-act": {"resolute": "LLM"}}});
        let found = find(&of_pack, &given);
        let expected =
            ["convengine.flow.dialogue-act.resolute=REGEX_ONLY", "convengine.input.max-chars=100", "convengine.mcp.tools=[\"a b\"]"];
        assert_eq!(found, expected);
        let line = describe(&of_pack, &given).unwrap();
        assert!(line.contains("--set convengine.input.max-chars=100 --set convengine.mcp.tools='[\"a b\"]'"), "{line}");
        for nothing in [Value::Null, json!({}), json!({"flow": {}})] {
            assert_eq!(describe(&nothing, &given), None);
        }
    }
}
