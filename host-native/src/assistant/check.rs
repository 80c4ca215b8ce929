//! Validation of flow documents before they are saved and published. (docs/spec/flows.md#2.1, docs/spec/flows.md#11)

use convengine_core::config::flow::{DocumentIssue, REFUSED, snapshot as document_hash};
use convengine_core::lint::flow::{self, Around};
use serde_json::Value;

use crate::drive::Host;
use crate::settings::network::listed;
use crate::store::assistant::secret;

/// The largest document in bytes.
pub const LARGEST: usize = 4 * 1024 * 1024;

/// Validates a document against the secrets and settings of a host. Returns it with its issues; an issue that prevents saving is
/// returned alone.
///
/// # Errors
/// Returns any database error.
pub async fn issues(host: &Host, document: Value) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    // Another process may have just changed a secret.
    host.vault.follow(&host.readers, &host.secrets).await?;
    let revoked = secret::revoked(&host.readers).await?;
    let (secrets, allowed) = (host.secrets.names(), listed(host.current.settings(), "outbound.allow"));
    crate::audit::derive::aside(move || {
        let context = Around { secrets: Some(&secrets), revoked: &revoked, allowed: &allowed, ..Around::nothing() };
        let issues = flow::publish(&document, &context);
        (document, issues)
    })
    .await
}

/// Returns the snapshot hash of a document.
pub fn snapshot(document: &Value) -> String {
    document_hash(document)
}

/// Returns the issue of a document that exceeds [`LARGEST`].
pub fn too_large() -> DocumentIssue {
    DocumentIssue::error("D005", "", format!("document is larger than {LARGEST} bytes")).fix("reduce its size")
}

/// Returns whether an issue prevents saving a document as a draft.
pub fn refuses(issue: &DocumentIssue) -> bool {
    issue.is_error() && REFUSED.contains(&issue.code)
}

/// Returns whether a text is a valid assistant id.
pub fn is_id(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(rest)
}

/// Encodes bytes in lower case hexadecimal.
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
