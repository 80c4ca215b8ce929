//! What a document must be before it is kept, and before it is published. (`convoship.md` 2.1, 11)

use convengine_core::config::flow::{DocumentIssue, REFUSED, snapshot as of_document};
use convengine_core::lint::flow::{self, Around};
use serde_json::Value;

use crate::drive::Host;
use crate::settings::network::listed;
use crate::store::assistant::secret;

/// Most bytes of a document.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// What is wrong with a document where it is to be used. The first of those that keep it from being a draft come alone.
///
/// # Errors
/// What the database says.
pub async fn issues(host: &Host, document: Value) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    // Another process may have taken up a secret just now.
    host.vault.follow(&host.readers, &host.secrets).await?;
    let revoked = secret::revoked(&host.readers).await?;
    let (secrets, allowed) = (host.secrets.names(), listed(host.current.settings(), "outbound.allow"));
    crate::audit::derive::aside(move || {
        let around = Around { secrets: Some(&secrets), revoked: &revoked, allowed: &allowed, ..Around::nothing() };
        let issues = flow::publish(&document, &around);
        (document, issues)
    })
    .await
}

/// The hash of what of a document counts.
pub fn snapshot(document: &Value) -> String {
    of_document(document)
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
    use super::*;

    #[test]
    fn an_id_begins_with_a_letter() {
        assert!(refuses(&too_large()));
        for id in ["", "-a", "a b", "\u{e4}", "a/b", "a\0", &"a".repeat(65)] {
            assert!(!is_id(id), "{id}");
        }
        assert!(is_id("A.b_c-9") && is_id(&"a".repeat(64)));
    }
}
