//! The keys of documents: in all tables an assistant has its id as the key, any other document its kind before its id.

use std::fmt;

use convengine_core::config::flow::Flow;
use convengine_core::config::flow::document::ProgramKind;
use convengine_core::turn::Map;
use serde_json::Value;

/// Separates kind and id; ids do not contain it.
const SEPARATOR: char = ':';

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    /// A conversation flow.
    Assistant,
    /// A workflow graph.
    Workflow,
    /// A workflow chain.
    Chain,
    /// An AI agent.
    Agent,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: [DocumentKind; 4] = [DocumentKind::Assistant, DocumentKind::Workflow, DocumentKind::Chain, DocumentKind::Agent];

    /// The kind of a document; `None` if it names none.
    pub fn from_document(document: &Value) -> Option<DocumentKind> {
        let doc = document.get("doc").and_then(Value::as_str)?;
        DocumentKind::ALL.into_iter().find(|kind| kind.doc() == doc)
    }

    /// The member `doc` of its documents.
    pub fn doc(self) -> &'static str {
        match self {
            DocumentKind::Assistant => "conversation_flow",
            DocumentKind::Workflow => "workflow_graph",
            DocumentKind::Chain => "workflow_chain",
            DocumentKind::Agent => "ai_agent",
        }
    }

    /// Its name in keys, events and responses.
    pub fn name(self) -> &'static str {
        match self {
            DocumentKind::Assistant => "assistant",
            DocumentKind::Workflow => "workflow",
            DocumentKind::Chain => "chain",
            DocumentKind::Agent => "agent",
        }
    }

    /// Its name in texts.
    pub fn title(self) -> &'static str {
        match self {
            DocumentKind::Assistant => "assistant",
            DocumentKind::Workflow => "workflow",
            DocumentKind::Chain => "workflow chain",
            DocumentKind::Agent => "AI agent",
        }
    }

    /// The member of its documents that holds their id.
    pub fn id_member(self) -> &'static str {
        match self {
            DocumentKind::Chain => "slug",
            DocumentKind::Assistant | DocumentKind::Workflow | DocumentKind::Agent => "id",
        }
    }

    /// Whether a text is the id of a document of this kind.
    pub fn is_id(self, text: &str) -> bool {
        let is_word = match self {
            DocumentKind::Chain => {
                let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
                text.starts_with(is_letter) && text.chars().all(|letter| is_letter(letter) || letter == '-')
            }
            DocumentKind::Assistant | DocumentKind::Workflow | DocumentKind::Agent => {
                let is_other = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
                text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(is_other)
            }
        };
        is_word && text.len() <= 64
    }

    /// The kind with a name.
    pub fn from_name(name: &str) -> Option<DocumentKind> {
        DocumentKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl From<ProgramKind> for DocumentKind {
    fn from(kind: ProgramKind) -> DocumentKind {
        match kind {
            ProgramKind::Assistant => DocumentKind::Assistant,
            ProgramKind::Workflow => DocumentKind::Workflow,
            ProgramKind::Agent => DocumentKind::Agent,
        }
    }
}

/// The key of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramKey {
    kind: DocumentKind,
    text: String,
}

impl ProgramKey {
    /// The key of a document by its kind and id.
    pub fn new(kind: DocumentKind, id: &str) -> ProgramKey {
        let text = match kind {
            DocumentKind::Assistant => id.to_owned(),
            DocumentKind::Workflow | DocumentKind::Chain | DocumentKind::Agent => format!("{}{SEPARATOR}{id}", kind.name()),
        };
        ProgramKey { kind, text }
    }

    /// Parses a stored key.
    pub fn parse(text: &str) -> ProgramKey {
        let kind = text.split_once(SEPARATOR).and_then(|it| DocumentKind::from_name(it.0)).unwrap_or(DocumentKind::Assistant);
        ProgramKey { kind, text: text.to_owned() }
    }

    /// The key of a document; its id is empty if it has none.
    pub fn of_document(document: &Value) -> ProgramKey {
        let kind = DocumentKind::from_document(document).unwrap_or(DocumentKind::Assistant);
        ProgramKey::new(kind, document.get(kind.id_member()).and_then(Value::as_str).unwrap_or_default())
    }

    /// The key of a compiled document.
    pub fn of_flow(flow: &Flow) -> ProgramKey {
        ProgramKey::new(flow.kind.into(), &flow.document.id)
    }

    /// The key in the event of a session; `None` if the event has none.
    pub fn from_event(event: &Value) -> Option<ProgramKey> {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let kind = text("program").and_then(DocumentKind::from_name).unwrap_or(DocumentKind::Assistant);
        Some(ProgramKey::new(kind, text("assistant")?))
    }

    /// Adds the key to the event of a session.
    pub fn write_to(&self, event: &mut Map) {
        event.insert("assistant".to_owned(), Value::from(self.id()));
        if self.kind != DocumentKind::Assistant {
            event.insert("program".to_owned(), Value::from(self.kind.name()));
        }
    }

    /// The kind of the document.
    pub fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// The id of the document.
    pub fn id(&self) -> &str {
        match self.kind {
            DocumentKind::Assistant => &self.text,
            DocumentKind::Workflow | DocumentKind::Chain | DocumentKind::Agent => self.text.split_once(SEPARATOR).map_or("", |it| it.1),
        }
    }

    /// The key as it is stored. Never shown to clients.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ProgramKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind.title(), self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_has_the_kind_of_all_documents_but_assistants() {
        for (kind, id, text) in [
            (DocumentKind::Assistant, "desk", "desk"),
            (DocumentKind::Workflow, "desk", "workflow:desk"),
            (DocumentKind::Chain, "0-desk", "chain:0-desk"),
            (DocumentKind::Agent, "Desk.a_1", "agent:Desk.a_1"),
        ] {
            let key = ProgramKey::new(kind, id);
            assert_eq!((key.as_str(), key.id(), key.kind()), (text, id, kind));
            assert_eq!(ProgramKey::parse(text), key);
            assert_eq!(ProgramKey::of_document(&json!({"doc": kind.doc(), kind.id_member(): id})), key);
            let mut event = Map::new();
            key.write_to(&mut event);
            assert_eq!(ProgramKey::from_event(&Value::Object(event.clone())), Some(key));
            assert_eq!((event.get("assistant"), event.len()), (Some(&json!(id)), if kind == DocumentKind::Assistant { 1 } else { 2 }));
            assert!(kind.is_id(id), "{id}");
        }
        assert_eq!(ProgramKey::from_event(&json!({"type": "session.start"})), None);
    }

    #[test]
    fn an_id_begins_with_a_letter_and_a_slug_is_in_lower_case() {
        for id in ["", "-a", "a b", "\u{e4}", "a/b", "a:b", "a\0", &"a".repeat(65)] {
            assert!(DocumentKind::ALL.iter().all(|it| !it.is_id(id)), "{id}");
        }
        assert!(DocumentKind::Assistant.is_id("A.b_c-9") && DocumentKind::Assistant.is_id(&"a".repeat(64)));
        assert_eq!(["A", "a_b", "9-a", "a"].map(|it| DocumentKind::Chain.is_id(it)), [false, false, true, true]);
        assert!(!DocumentKind::Workflow.is_id("9-a"));
    }
}
