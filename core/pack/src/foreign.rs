//! Files of other builders, and what else is no pack: said when one is read, because nearly any JSON object with a name is a pack.
//!
//! The page has the same marks for what it opens: `web-demo/src/session/unknown-file.ts`.

use serde_json::Value;

/// The builders and the marks of their JSON files: members of which a file has all of one line.
const JSON_MARKS: [(&str, &[&str]); 13] = [
    ("Rasa", &["rasa_nlu_data"]),
    ("Rasa", &["version", "nlu"]),
    ("Rasa", &["version", "stories"]),
    ("Dialogflow", &["fallbackIntent"]),
    ("Dialogflow", &["webhookUsed"]),
    ("Dialogflow", &["mlMinConfidence"]),
    ("Dialogflow", &["isOverridable"]),
    ("Dialogflow", &["defaultLanguageCode"]),
    ("Dialogflow", &["trainingPhrases"]),
    ("Dialogflow", &["transitionRoutes"]),
    ("Dialogflow", &["isTemplate", "data"]),
    ("Botpress", &["startNode", "nodes"]),
    ("Bot Framework", &["luis_schema_version"]),
];

/// Kinds of the components of Copilot Studio.
const COPILOT_KINDS: [&str; 3] = ["AdaptiveDialog", "BotDefinition", "GptComponentMetadata"];

/// Members of packs and documents: a file with one of them is ours, if a broken one.
const OUR_MEMBERS: [&str; 6] = ["doc", "tables", "documents", "turns", "llm", "workspace_tools"];

/// Keys at the top of the YAML files of Rasa, beside their version.
const RASA_KEYS: [&str; 6] = ["nlu", "stories", "rules", "responses", "intents", "slots"];

const EXPECTED: &str = "expected a pack or a document (JSON), or a talk (.talk)";

/// Says why a text is no pack if it is a file of another builder or no JSON at all; `None` for everything else.
pub(super) fn find_problem(text: &str) -> Option<String> {
    let found = serde_json::from_str::<Value>(text);
    let builder = found.as_ref().map_or_else(|_| builder_of_yaml(text), builder_of_json);
    if let Some(builder) = builder {
        return Some(format!("a file of {builder}, which is not read yet; {EXPECTED}"));
    }
    // What looks like JSON gets the place of its error.
    let is_json = found.is_ok() || text.trim_start().starts_with(['{', '[']);
    (!is_json).then(|| format!("neither JSON nor a talk; {EXPECTED}"))
}

fn builder_of_json(value: &Value) -> Option<&'static str> {
    let item = value.as_array().map_or(Some(value), |items| items.first())?;
    let has = |member: &&str| item.get(*member).is_some();
    if OUR_MEMBERS.iter().any(has) {
        return None;
    }
    let text = |member: &str| item.get(member).and_then(Value::as_str).unwrap_or_default();
    if text("$kind").starts_with("Microsoft.") {
        return Some("Bot Framework");
    }
    if COPILOT_KINDS.contains(&text("kind")) {
        return Some("Copilot Studio");
    }
    if text("$schema").contains("botpress") {
        return Some("Botpress");
    }
    JSON_MARKS.iter().find(|(_, members)| members.iter().all(has)).map(|it| it.0)
}

fn builder_of_yaml(text: &str) -> Option<&'static str> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
    if COPILOT_KINDS.contains(&value("kind").unwrap_or_default()) {
        return Some("Copilot Studio");
    }
    let is_training = value("version").is_some() && RASA_KEYS.iter().any(|it| value(it).is_some());
    let is_configuration = value("pipeline").is_some() && value("policies").is_some();
    (is_training || is_configuration).then_some("Rasa")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_builders_are_named() {
        for (text, builder) in [
            ("version: \"3.1\"\nnlu:\n- intent: greet\n", "Rasa"),
            ("language: en\npipeline:\n- name: A\npolicies:\n- name: B\n", "Rasa"),
            (r#"{"rasa_nlu_data": {"common_examples": []}}"#, "Rasa"),
            (r#"{"id": "1", "name": "greet", "fallbackIntent": false, "responses": []}"#, "Dialogflow"),
            (r#"[{"id": "1", "data": [{"text": "hi"}], "isTemplate": false}]"#, "Dialogflow"),
            (r#"{"displayName": "shop", "defaultLanguageCode": "en"}"#, "Dialogflow"),
            (r#"{"version": "0.0.1", "startNode": "entry", "nodes": []}"#, "Botpress"),
            (r#"{"$kind": "Microsoft.AdaptiveDialog"}"#, "Bot Framework"),
            (r#"{"luis_schema_version": "7.0.0", "intents": []}"#, "Bot Framework"),
            ("kind: AdaptiveDialog\nbeginDialog:\n  kind: OnRecognizedIntent\n", "Copilot Studio"),
        ] {
            let problem = find_problem(text).unwrap_or_default();
            assert!(problem.starts_with(&format!("a file of {builder}, which is not read yet; expected a pack")), "{text}: {problem}");
        }
    }

    #[test]
    fn other_texts_are_told_by_what_reads_them() {
        for text in ["hello", "", "version: \"3\"\nservices:\n  web: {}\n"] {
            assert!(find_problem(text).is_some_and(|it| it.starts_with("neither JSON nor a talk")), "{text}");
        }
        for text in
            ["{", "[]", " [1", "5", r#"{"name": "p"}"#, r#"{"name": "p", "tables": {}, "trainingPhrases": []}"#, r#"{"doc": "ai_agent"}"#]
        {
            assert_eq!(find_problem(text), None, "{text}");
        }
    }
}
