//! Prompts for authors: how to write a pack, a flow and a talk, and how to try them.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

/// A prompt.
struct Template {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// Names, descriptions, and whether they are required.
    arguments: &'static [(&'static str, &'static str, bool)],
    text: &'static str,
}

const TEMPLATES: [Template; 3] = [
    Template {
        name: "write_pack",
        title: "Write a pack",
        about: "Writes the tables of an assistant as a pack, and tries it",
        arguments: &[
            ("purpose", "What users should be able to do, in a few sentences", true),
            ("intents", "The intents to distinguish, if known", false),
        ],
        text: include_str!("prompts/write_pack.md"),
    },
    Template {
        name: "write_flow",
        title: "Write a flow",
        about: "Writes an assistant as a flow document, and tries it",
        arguments: &[
            ("purpose", "What the assistant does for its users, in a few sentences", true),
            ("services", "The HTTP services that it calls, if there are any", false),
        ],
        text: include_str!("prompts/write_flow.md"),
    },
    Template {
        name: "write_talk",
        title: "Write a talk",
        about: "Writes conversations with expectations that test an assistant",
        arguments: &[("purpose", "What the talk should show", true), ("document", "The id of the assistant; omit it for tables", false)],
        text: include_str!("prompts/write_talk.md"),
    },
];

/// Lists the prompts.
pub fn list() -> Vec<Prompt> {
    let argument = |it: &(&str, &str, bool)| PromptArgument::new(it.0).with_description(it.1).with_required(it.2);
    let prompt =
        |it: &Template| Prompt::new(it.name, Some(it.about), Some(it.arguments.iter().map(argument).collect())).with_title(it.title);
    TEMPLATES.iter().map(prompt).collect()
}

/// Renders a prompt: its text, and the arguments below it.
///
/// # Errors
/// A message if there is no such prompt, or an argument is missing, unknown or not text.
pub fn render(name: &str, given: &Map<String, Value>) -> Result<GetPromptResult, String> {
    let template =
        TEMPLATES.iter().find(|it| it.name == name).ok_or_else(|| format!("unknown prompt '{name}'; use one that prompts/list returns"))?;
    if let Some(unknown) = given.keys().find(|key| template.arguments.iter().all(|known| known.0 != key.as_str())) {
        return Err(format!("unknown argument '{unknown}' of the prompt '{name}'"));
    }
    let mut text = template.text.trim_end().to_owned();
    for (argument, _, is_required) in template.arguments {
        match given.get(*argument) {
            Some(Value::String(value)) if !value.trim().is_empty() => text.push_str(&format!("\n\n## {argument}\n\n{}", value.trim())),
            Some(Value::String(_) | Value::Null) | None if !is_required => {}
            _ => return Err(format!("argument '{argument}' of the prompt '{name}' is not a string; send one")),
        }
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(template.about))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_contain_their_arguments_and_name_the_tools() {
        for template in &TEMPLATES {
            let given = json!({"purpose": "sells {tea}"});
            let rendered = render(template.name, given.as_object().expect("arguments")).expect("a prompt");
            let text = json!(rendered.messages)[0]["content"]["text"].as_str().unwrap_or_default().to_owned();
            assert!(text.ends_with("## purpose\n\nsells {tea}"), "{text}");
            assert!(["lint", "play", "convengine://reference/"].iter().all(|it| text.contains(it)), "{text}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        for (name, given) in [
            ("write_pack", json!({})),
            ("write_pack", json!({"purpose": " "})),
            ("write_pack", json!({"purpose": 5})),
            ("write_pack", json!({"purpose": "x", "document": "y"})),
            ("write_book", json!({"purpose": "x"})),
        ] {
            assert!(render(name, given.as_object().expect("arguments")).is_err(), "{name} {given}");
        }
    }
}
