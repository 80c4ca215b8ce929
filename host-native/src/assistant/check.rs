//! What a document must be before it is kept, and before it is published: the one place that asks the core. (`convoship.md` 2.1, 11)
//!
//! Until the core reads whole documents, only what the routes themselves rely on is checked here: `flow::form` then takes the place of
//! [`draft`], the core's check of what is published that of [`publish`], and `flow::snapshot` that of [`snapshot`].

use std::collections::BTreeSet;

use convengine_core::config::flow::DocumentIssue;
use convengine_core::json::canon;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Most bytes of a document.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// The errors with which a document is not even kept as a draft.
const REFUSED: [&str; 5] = ["D001", "D002", "D004", "D005", "D006"];

/// What a document may refer to that is not in it.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The names of secrets that have a value.
    pub secrets: BTreeSet<String>,
    /// The local targets that may be called.
    pub targets: Vec<String>,
}

/// What is wrong with a document by itself.
pub fn draft(document: &Value) -> Vec<DocumentIssue> {
    let Value::Object(members) = document else {
        return vec![DocumentIssue::error("D001", "", "the document is no object").fix("send a flow document")];
    };
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let mut issues = Vec::new();
    if !text("id").is_some_and(is_id) {
        let fix = "begin with a letter; letters, digits, '_', '.' and '-' may follow, 64 characters at most";
        issues.push(DocumentIssue::error("D001", "/id", "the id is no id").fix(fix));
    }
    match members.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => {}
        Some(Value::String(_)) | None => issues.push(DocumentIssue::error("D009", "/name", "the name is empty").fix("give it a name")),
        Some(_) => issues.push(DocumentIssue::error("D001", "/name", "the name is no text").fix("give it a name")),
    }
    issues
}

/// What is wrong with a document that is to be published.
pub fn publish(document: &Value, _around: &Around) -> Vec<DocumentIssue> {
    draft(document)
}

/// The hash of what of a document counts.
pub fn snapshot(document: &Value) -> String {
    let digest = Sha256::digest(canon::text(document).as_bytes());
    format!("sha256:{}", hex(&digest))
}

/// What is wrong with a document that is too large to be read.
pub fn too_large() -> DocumentIssue {
    DocumentIssue::error("D005", "", format!("the document has more than {LARGEST} bytes")).fix("make it smaller")
}

/// Whether an issue keeps a document from being a draft.
pub fn refuses(issue: &DocumentIssue) -> bool {
    issue.is_error() && REFUSED.contains(&issue.code)
}

/// Whether a text can be the id of an assistant.
pub fn is_id(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(rest)
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_draft_has_an_id_and_may_lack_a_name() {
        let codes = |document: Value| draft(&document).iter().map(|it| (it.code, refuses(it))).collect::<Vec<_>>();
        assert_eq!(codes(json!({"id": "desk", "name": "Desk", "more": [1]})), []);
        assert_eq!(codes(json!({"id": "desk", "name": " "})), [("D009", false)]);
        assert_eq!(codes(json!({"id": "desk"})), [("D009", false)]);
        assert_eq!(codes(json!({"id": "1desk", "name": 5})), [("D001", true), ("D001", true)]);
        assert_eq!(codes(json!([])), [("D001", true)]);
        assert!(refuses(&too_large()));
        for id in ["", "-a", "a b", "ä", "a/b", "a\0", &"a".repeat(65)] {
            assert!(!is_id(id), "{id}");
        }
        assert!(is_id("A.b_c-9") && is_id(&"a".repeat(64)));
    }

    #[test]
    fn the_order_of_members_does_not_count() {
        let one = snapshot(&json!({"id": "desk", "name": "Desk"}));
        assert_eq!((one.len(), one.split_once(':').map(|it| it.0)), (71, Some("sha256")));
        assert_eq!(one, snapshot(&json!({"name": "Desk", "id": "desk"})));
        assert_ne!(one, snapshot(&json!({"name": "Desks", "id": "desk"})));
    }
}
