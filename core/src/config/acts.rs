//! Dialogue acts: the patterns that recognise them and the prompts that ask a model. (docs/spec/pipeline.md#2.6)

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::built_in::{Component, PromptPair};
use super::issue::Issue;
use super::tables::ConfigRows;
use crate::json::members;
use crate::text::regex::Regex;
use crate::text::template::Template;
use crate::turn::{Considered, Fate, TOO_MANY_STEPS};

/// The dialogue act of a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Act {
    /// Confirms.
    Affirm,
    /// Declines.
    Negate,
    /// Answers an open question.
    Answer,
    /// Corrects an earlier value.
    Edit,
    /// Restarts the conversation.
    Reset,
    /// Asks for information.
    Question,
    /// Makes a new request.
    NewRequest,
    /// Greets.
    Greeting,
}

const ACTS: [(&str, Act); 8] = [
    ("AFFIRM", Act::Affirm),
    ("NEGATE", Act::Negate),
    ("ANSWER", Act::Answer),
    ("EDIT", Act::Edit),
    ("RESET", Act::Reset),
    ("QUESTION", Act::Question),
    ("NEW_REQUEST", Act::NewRequest),
    ("GREETING", Act::Greeting),
];

/// Default patterns of the acts that need no model, each with its key in `ce_config`.
const WORDS: [(Act, &str, &str); 5] = [
    (Act::Affirm, "REGEX_AFFIRM", r"\s*(yes|yep|yeah|ok|okay|sure|go ahead|do that|please do|confirm|approve|approved)\s*"),
    (Act::Negate, "REGEX_NEGATE", r"\s*(no|nope|nah|cancel|stop|don't|do not)\s*"),
    (Act::Edit, "REGEX_EDIT", r"\s*(edit|revise|change|modify|update)\s*"),
    (Act::Reset, "REGEX_RESET", r"\s*(reset|restart|start over)\s*"),
    (Act::Greeting, "REGEX_GREETING", r"\s*(hi|hello|hey|greetings|good morning|good afternoon|good evening|howdy)\s*"),
];

impl Act {
    /// Parses the name of an act, ignoring case.
    pub fn parse(name: &str) -> Option<Act> {
        ACTS.iter().find(|it| it.0.eq_ignore_ascii_case(name.trim())).map(|it| it.1)
    }

    /// The name in parameters and audits.
    pub fn name(self) -> &'static str {
        ACTS.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }
}

/// A prompt pair and the JSON Schema of the reply.
#[derive(Debug, Clone, Default)]
pub struct ActPrompts {
    /// System prompt.
    pub system: Template,
    /// User prompt.
    pub user: Template,
    /// JSON Schema.
    pub schema: Value,
}

/// Compiled patterns and prompts.
#[derive(Debug, Clone, Default)]
pub struct Acts {
    /// Whole-text patterns, in matching order.
    pub words: Vec<(Act, Regex)>,
    /// Prompts that classify the message only.
    pub plain: ActPrompts,
    /// Prompts that also ask for a standalone rewrite of the message.
    pub rewrite: ActPrompts,
}

impl Acts {
    /// Returns the first act whose pattern matches the whole text.
    pub fn named(&self, text: &str) -> Option<Act> {
        self.words.iter().find(|it| it.1.find(text) == Ok(true)).map(|it| it.0)
    }

    /// Returns the verdict on each pattern for a text.
    pub fn considered(&self, text: &str) -> Vec<Considered> {
        let mut named = false;
        let mut judge = |(act, regex): &(Act, Regex)| {
            let row = |fate| Considered::choice("ce_config", act.name(), fate);
            let judged = match regex.find(text) {
                _ if named => row(Fate::NotReached),
                Ok(true) => row(Fate::Matched),
                Ok(false) => row(Fate::NotMatched),
                Err(_) => row(Fate::Failed).because(TOO_MANY_STEPS),
            };
            named |= judged.verdict == Fate::Matched;
            judged
        };
        self.words.iter().map(&mut judge).collect()
    }

    pub(super) fn compile(rows: &ConfigRows, issues: &mut Vec<Issue>) -> Acts {
        let mut step = Component { rows, name: "DialogueActStep", issues };
        let words = WORDS.iter().filter_map(|(act, key, default)| Some((*act, words(&mut step, key, default)?))).collect();
        Acts { words, plain: prompts(&mut step, "", &PLAIN), rewrite: prompts(&mut step, "QUERY_REWRITE_", &REWRITE) }
    }
}

fn words(step: &mut Component<'_>, key: &str, default: &str) -> Option<Regex> {
    if let Some(pattern) = step.rows.value(step.name, key) {
        match Regex::whole(pattern) {
            Ok(regex) => return Some(regex),
            Err(reason) => step.left_out(key, reason),
        }
    }
    Regex::whole(default).ok()
}

struct BuiltIn {
    system: &'static str,
    user: &'static str,
    rewrites: bool,
}

const PLAIN: BuiltIn = BuiltIn {
    system: "You label what a customer is doing with a message in a service chat. Pick exactly one label:\n\
        AFFIRM agrees or confirms; NEGATE refuses or calls something off; ANSWER gives a detail that was asked for; \
        EDIT wants to correct an earlier detail; RESET wants to begin again from nothing; QUESTION asks for information; \
        GREETING only says hello; NEW_REQUEST is anything else, such as a new wish.\n\
        Reply with one JSON object with the members dialogueAct and confidence (0 to 1), and with nothing else.",
    user: "The customer's message:\n{{user_input}}",
    rewrites: false,
};

const REWRITE: BuiltIn = BuiltIn {
    system: "You label what a customer is doing with the newest message of a service chat, and you restate that message so that it can be \
        understood without the chat. Pick exactly one label:\n\
        AFFIRM agrees or confirms; NEGATE refuses or calls something off; ANSWER gives a detail that was asked for; \
        EDIT wants to correct an earlier detail; RESET wants to begin again from nothing; QUESTION asks for information; \
        GREETING only says hello; NEW_REQUEST is anything else, such as a new wish.\n\
        Restate in the customer's language; put names and numbers from the chat in place of words like 'it' or 'that one', and add nothing new.\n\
        Reply with one JSON object with the members dialogueAct, confidence (0 to 1) and standaloneQuery, and with nothing else.",
    user: "The chat so far, oldest first, as JSON:\n{{conversation_history}}\n\nThe customer's newest message:\n{{user_input}}",
    rewrites: true,
};

fn prompts(step: &mut Component<'_>, prefix: &str, built_in: &BuiltIn) -> ActPrompts {
    let PromptPair { system, user } = step.pair(prefix, built_in.system, built_in.user);
    ActPrompts { system, user, schema: schema(step, &format!("{prefix}SCHEMA_PROMPT"), built_in.rewrites) }
}

fn schema(step: &mut Component<'_>, key: &str, rewrites: bool) -> Value {
    if let Some(source) = step.rows.value(step.name, key) {
        match serde_json::from_str(source) {
            Ok(schema @ Value::Object(_)) => return schema,
            Ok(_) => step.left_out(key, "is not a JSON object".to_owned()),
            Err(error) => step.left_out(key, error.to_string()),
        }
    }
    let names: Vec<&str> = ACTS.iter().map(|it| it.0).collect();
    let mut properties = members(json!({
        "dialogueAct": {"type": "string", "enum": names},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }));
    if rewrites {
        properties.insert("standaloneQuery".to_owned(), json!({"type": "string"}));
    }
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}
