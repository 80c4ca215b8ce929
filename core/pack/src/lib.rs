//! Packs: configuration, scripted answers and a conversation as data, shared by every runner. (docs/spec/interface.md#3)
//!
//! Everything that determines the result of a played turn (clock, ids, scripted answers, stored rows) is here, so that the core, the
//! server and the page produce identical bytes. Playing a pack is up to the hosts. A test plays one in a loop, without I/O: the
//! [`Pack`] has the configuration and the messages, [`Scripted`] answers the effects, [`Conversations`] is the database.
//!
//! ```
//! use std::sync::Arc;
//! use convengine_pack::{Conversations, Pack, Scripted};
//!
//! let pack = Pack::parse(r#"{"name": "bakery",
//!     "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
//!     "tables": {"ce_response": [
//!         {"response_id": 1, "intent_code": "UNKNOWN", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT",
//!         "exact_text": "You said {{userText}}."}]},
//!     "turns": [{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "hello"}}}]}"#)?;
//! let (config, issues) = pack.compile();
//! assert!(issues.is_empty(), "{issues:?}");
//! let mut scripted = Scripted::from_pack(&pack);
//! let conversations = Conversations::default();
//!
//! // The input of the first turn, for `Turn::start(input, Arc::new(config))` of `convengine-core`, whose documentation goes on from here.
//! let message = pack.message(0).ok_or("not a message")?;
//! let input = message.into_input(&conversations, config.program());
//! assert!(scripted.begin_turn(&input).is_none(), "the turn has no time of its own");
//! assert_eq!((input.at, input.event.text.as_deref()), (1_767_258_000_000, Some("hello")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod check;
mod classifiers;
mod conversations;
mod eval;
mod extension;
mod fake;
mod fake_http;
mod file;
mod flow_turn;
mod foreign;
mod json_schema;
mod knowledge;
mod lint;
mod message;
mod phrase_vectors;
mod script_turn;
mod scripted;
mod talk;
mod tool_rows;

pub use answer::{PackAnswer, ScriptedCall};
pub use check::{Check, PackCheck};
pub use classifiers::{NamedReport, PackClassifier};
pub use conversations::{Conversations, SliceHash};
pub use eval::{AgentEval, agent_evals};
pub use extension::extension_from_row;
pub use fake::Fakes;
pub use fake_http::{HttpAnswer, HttpRule};
pub use file::{PackFileError, ReadFile, pack_file_text, wrap_document};
pub use json_schema::json_schema;
pub use knowledge::PackSource;
pub use message::Message;
pub use phrase_vectors::SCRIPTED_MODEL;
pub use scripted::{ScriptRule, Scripted};
pub use talk::{OpenTalk, conversation_id_for_label, talk_words};

use std::collections::BTreeMap;

use convengine_config::flow::document::ProgramKind;
use convengine_config::flow::{add_workspace_tools, document_kind, is_chain};
use convengine_config::{Config, Issue, Tables};
use convengine_text::json;
use convengine_turn::{Map, Millis};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::json;

/// The time of the first turn of a pack, 2026-01-01T09:00:00Z; each further turn is a minute later.
const FIRST_TURN_AT: Millis = 1_767_258_000_000;
const TURN_INTERVAL: Millis = 60_000;

/// A pack file: one JSON object, of which only `name` is required. (docs/reference/packs.md)
///
/// A member that a pack does not have is ignored, so that newer packs can be read. See the [example of the crate](crate).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pack {
    /// Its name.
    pub name: String,
    /// What it demonstrates.
    #[serde(default)]
    pub about: String,
    /// Settings below `convengine`, as a tree; keys in camel case or kebab case.
    #[serde(default)]
    pub settings: Value,
    /// Control tables.
    #[serde(default)]
    pub tables: Tables,
    /// Scripted model replies.
    #[serde(default)]
    pub llm: Vec<ScriptRule>,
    /// Scripted tasks: `bean:method` to its reply, or to `{"error": text}`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub tasks: Map,
    /// Scripted tools by code.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub tools: Map,
    /// Scripted containers: `page/section/container` to the data.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub containers: Map,
    /// The fake HTTP service at `${STUB}`.
    #[serde(default)]
    pub http: Vec<HttpRule>,
    /// Extensions by name: the module and its permissions. [`Pack::parse`] adds their rows to the tables.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub extensions: Map,
    /// The modules of the extensions by their SHA-256.
    #[serde(skip)]
    pub modules: BTreeMap<String, Vec<u8>>,
    /// Flow documents, workflow graphs and AI agents. A pack with one and no tables plays the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Value>,
    /// The tools of the workspace, which documents may name. [`Pack::bundle`] completes documents with them, as publishing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace_tools: Vec<Value>,
    /// Sources of the knowledge bases of the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<PackSource>,
    /// The conversation.
    #[serde(default)]
    pub turns: Vec<PackTurn>,
}

/// One turn of a pack: a request with expectations, or a change of the database. What a host cannot do, such as SQL in the browser, it
/// skips or reports; the core has only [`Pack::message`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PackTurn {
    /// The label of the conversation. A session of a document has the id that follows from it; without one, from `main`.
    #[serde(default)]
    pub conversation: Option<String>,
    /// The request to send.
    #[serde(default)]
    pub request: Option<PackRequest>,
    /// SQL to run between turns.
    #[serde(default)]
    pub admin_sql: Option<Value>,
    /// Whether the server reloads the configuration afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_refreshed: bool,
    /// The expected response.
    #[serde(default)]
    pub expect: Option<Value>,
    /// When it happens; `None` for the clock of the pack.
    #[serde(default)]
    pub at: Option<Millis>,
    /// The answers to the requests of the turn, in order. Other requests are answered by the rules of the pack.
    #[serde(default)]
    pub answers: Vec<PackAnswer>,
    /// The expectations of a talk.
    #[serde(default)]
    pub checks: Vec<PackCheck>,
    /// The line in the talk; 0 in a pack.
    #[serde(default)]
    pub line: u32,
}

/// An HTTP request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PackRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// A JSON value, or the text of the body.
    #[serde(default)]
    pub body: Value,
    /// `Content-Type`.
    #[serde(default, rename = "contentType")]
    pub content_type: Option<String>,
}

/// The error for a text that is not a valid pack or talk; its message has the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {form}: {reason}")]
pub struct PackError {
    form: &'static str,
    reason: String,
}

impl PackError {
    fn invalid_pack(reason: impl std::fmt::Display) -> PackError {
        PackError { form: "pack", reason: reason.to_string() }
    }
}

impl Pack {
    /// Parses a pack.
    ///
    /// Decodes the modules of extensions, repeats texts that are written as `{"$repeat": text, "$length": n}`, and adds the rows of
    /// scripted tools. Rows and documents are not looked into: that is up to [`Pack::compile`].
    ///
    /// ```
    /// use convengine_pack::Pack;
    ///
    /// let error = Pack::parse(r#"{"name": "p", "turns": [{"request": {"method": "POST"}}]}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "invalid pack: turns[0].request: missing field `path`");
    /// ```
    ///
    /// # Errors
    /// [`PackError`] with line and column if the text is not JSON, or with the path of the member that a pack does not have so.
    pub fn parse(text: &str) -> Result<Pack, PackError> {
        // Serde would read a list as the members of a pack in their order.
        let members: Map = json::decode_text(text).map_err(PackError::invalid_pack)?;
        let mut pack: Pack = json::decode(&Value::Object(members)).map_err(PackError::invalid_pack)?;
        pack.modules = extension::extract_modules(&mut pack)?;
        for request in pack.turns.iter_mut().filter_map(|it| it.request.as_mut()) {
            request.body = expand_repeats(&request.body);
        }
        tool_rows::insert_tool_rows(&mut pack);
        Ok(pack)
    }

    /// Compiles the flow document or the tables that the pack plays. Never fails: what cannot be compiled is an [`Issue`], and a document
    /// that cannot be read leaves an empty configuration.
    pub fn compile(&self) -> (Config, Vec<Issue>) {
        if let Some(document) = self.flow_document() {
            let unreadable = |reason| (Config::default(), vec![Issue::error("documents", reason, "correct the document")]);
            return Config::from_flow(&document).map_or_else(unreadable, |config| (config, Vec::new()));
        }
        Config::compile(&self.tables, &self.settings)
    }

    /// Returns the document that the pack plays, the first one, with what it is bound to: the other documents and the tools of the
    /// workspace. `None` if it has tables, which take precedence.
    ///
    /// ```
    /// use convengine_pack::Pack;
    ///
    /// let pack = Pack::parse(r#"{"name": "p", "documents": [
    ///     {"doc": "workflow_graph", "id": "intake", "nodes": [], "edges": []}, {"doc": "ai_agent", "id": "desk"}]}"#)?;
    /// let bundle = pack.flow_document().ok_or("it has no document")?;
    /// assert_eq!((&bundle["root"]["id"], &bundle["bound"][0]["document"]["id"]), (&"intake".into(), &"desk".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flow_document(&self) -> Option<Value> {
        self.bundle(self.played_document()?)
    }

    /// Returns the place of the document that the pack plays.
    fn played_document(&self) -> Option<usize> {
        let is_program = |document: &Value| document_kind(document).is_some() || is_chain(document);
        self.documents.iter().position(is_program).filter(|_| self.tables.0.is_empty())
    }

    /// Returns a document with what it is bound to: the other documents and the tools of the workspace; an assistant alone, with those
    /// tools that it names. `at` is its place in `documents`; `None` beyond the last.
    pub fn bundle(&self, at: usize) -> Option<Value> {
        let root = self.with_tools(self.documents.get(at)?);
        // Only workflow graphs and chains run other documents.
        if matches!(document_kind(&root), Some(ProgramKind::Assistant | ProgramKind::Agent)) {
            return Some(root);
        }
        let others = self.documents.iter().enumerate().filter(|&(number, document)| number != at && document_kind(document).is_some());
        let bound: Vec<Value> = others.map(|(_, document)| json!({"document": self.with_tools(document)})).collect();
        Some(json!({"root": root, "bound": bound, "tools": self.workspace_tools}))
    }

    /// Returns a document with the tools of the workspace that it names, as publishing completes it.
    pub fn with_tools(&self, document: &Value) -> Value {
        let mut document = document.clone();
        add_workspace_tools(&mut document, &self.workspace_tools);
        document
    }

    /// Returns the message of a turn with its time and seed; `None` if the turn is not a plain message: a request of another kind, a change
    /// of the database, or a body with members of other types, which a server would refuse.
    ///
    /// The first turn is at 2026-01-01T09:00:00Z and each further one a minute later, unless it has a time; the seed is its number, from 1.
    /// So the ids of a conversation are the same wherever the pack is played.
    pub fn message(&self, index: usize) -> Option<Message> {
        let turn = self.turns.get(index)?;
        let request = turn.request.as_ref().filter(|it| it.method.eq_ignore_ascii_case("POST"))?;
        let number = u64::try_from(index).ok()?;
        let of_index = FIRST_TURN_AT + TURN_INTERVAL * Millis::try_from(index).ok()?;
        let (at, seed) = (turn.at.unwrap_or(of_index), number + 1);
        if request.path == "/api/v1/conversation/message" {
            return Message::from_body(&request.body, at, seed);
        }
        flow_turn::parse_message(&request.path, &request.body, turn.conversation.as_deref(), at, seed)
            .map(|it| self.with_phrase_vectors(it))
    }
}

fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map, D::Error> {
    Option::<Map>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Expands `{"$repeat": text, "$length": n}` to the text repeated to n characters.
fn expand_repeats(value: &Value) -> Value {
    match value {
        Value::Object(members) => match (members.get("$repeat"), members.get("$length")) {
            (Some(Value::String(text)), Some(length)) => {
                let length = length.as_u64().and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
                Value::String(text.chars().cycle().take(length).collect())
            }
            _ => Value::Object(members.iter().map(|(key, value)| (key.clone(), expand_repeats(value))).collect()),
        },
        Value::Array(items) => Value::Array(items.iter().map(expand_repeats).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repeats_are_expanded() {
        assert_eq!(expand_repeats(&json!({"m": [{"$repeat": "añ", "$length": 3}]})), json!({"m": ["aña"]}));
    }

    #[test]
    fn an_error_names_the_member() {
        let with = |turn: Value| json!({"name": "a", "tables": {}, "turns": [{}, turn]}).to_string();
        for (pack, expected) in [
            (with(json!({"request": {"method": "POST", "path": 3}})), "turns[1].request.path: invalid type: integer `3`"),
            (with(json!({"request": {"method": "POST"}})), "turns[1].request: missing field `path`"),
            (with(json!({"answers": [{"llm": "intent", "delay_ms": "1"}]})), "turns[1].answers[0].delay_ms: invalid type"),
            (with(json!({"answers": [{"llm": "intent", "tool": "x"}]})), "turns[1].answers[0]: expected one of 'llm'"),
            (with(json!({"checks": [{"line": 1, "reply": "a", "fails": "B"}]})), "turns[1].checks[0]: "),
            (json!({"name": "a", "knowledge": [{"id": "a", "title": "b", "text": 1}]}).to_string(), "knowledge[0]: text: invalid type"),
            ("[]".to_owned(), "invalid type: sequence, expected a map"),
            ("{\n\"name\":,}".to_owned(), "expected value at line 2 column 8"),
        ] {
            let error = Pack::parse(&pack).unwrap_err().to_string();
            assert!(error.contains(&format!("pack: {expected}")), "{error}");
        }
    }
}
