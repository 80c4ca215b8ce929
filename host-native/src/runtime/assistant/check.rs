//! Validation of flow documents before they are saved and published. (docs/spec/flows.md#2.1, docs/spec/flows.md#11)

use convengine_core::config::flow::{DocumentIssue, UNREADABLE_CODES, snapshot_hash as document_hash};
use convengine_core::lint::flow::{self, PublishTarget};
use convengine_core::turn::MAX_SCRIPT_TIMEOUT_MS;
use serde_json::Value;

use crate::config::settings::network::read_list;
use crate::effects::script;
use crate::runtime::turn_runner::Host;
use crate::storage::assistant::knowledge::source;
use crate::storage::assistant::secret;

/// The largest document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Validates a document against the secrets and settings of a host. Returns it with its issues; an issue that prevents saving is
/// returned alone.
///
/// # Errors
/// Returns any database error.
pub async fn check_document(host: &Host, document: Value) -> sqlx::Result<(Value, Vec<DocumentIssue>)> {
    // Another process may have just changed a secret.
    host.secret_store.refresh_if_changed(&host.readers, &host.secrets).await?;
    let revoked = secret::list_revoked(&host.readers).await?;
    let (secrets, allowed) = (host.secrets.names(), read_list(host.config_manager.settings(), "outbound.allow"));
    let assistant = document.get("id").and_then(Value::as_str).unwrap_or_default().replace('\0', "");
    let sources = source::list(&host.readers, &assistant).await?;
    let knowledge = sources.into_iter().map(|it| (it.source.id, it.is_searchable)).collect();
    let script_timeout = host.turn_settings.script_timeout.map_or(MAX_SCRIPT_TIMEOUT_MS.into(), |it| it.as_millis());
    let script_timeout_ms = u64::try_from(script_timeout).unwrap_or(u64::MAX);
    crate::ops::audit::derive::run_blocking(move || {
        let script_issues = script::check_document(&document);
        let context = PublishTarget {
            secrets: Some(&secrets),
            revoked_secrets: &revoked,
            allowed_targets: &allowed,
            script_timeout_ms: Some(script_timeout_ms),
            script_issues: &script_issues,
            programs: None,
            knowledge: Some(&knowledge),
        };
        let issues = flow::check_document(&document, &context);
        (document, issues)
    })
    .await
}

/// Returns the snapshot hash of a document.
pub fn snapshot_hash(document: &Value) -> String {
    document_hash(document)
}

/// Returns the issue of a document that exceeds [`LARGEST`].
pub fn too_large_issue() -> DocumentIssue {
    DocumentIssue::error("D005", "", format!("document is larger than {MAX_DOCUMENT_BYTES} bytes")).with_fix("reduce its size")
}

/// Returns whether an issue prevents saving a document as a draft.
pub fn prevents_saving(issue: &DocumentIssue) -> bool {
    issue.is_error() && UNREADABLE_CODES.contains(&issue.code)
}

/// Returns whether a text is a valid assistant id.
pub fn is_assistant_id(text: &str) -> bool {
    let rest = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    text.len() <= 64 && text.starts_with(|it: char| it.is_ascii_alphabetic()) && text.chars().all(rest)
}

/// Encodes bytes in lower case hexadecimal.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_begins_with_a_letter() {
        assert!(prevents_saving(&too_large_issue()));
        for id in ["", "-a", "a b", "\u{e4}", "a/b", "a\0", &"a".repeat(65)] {
            assert!(!is_assistant_id(id), "{id}");
        }
        assert!(is_assistant_id("A.b_c-9") && is_assistant_id(&"a".repeat(64)));
    }
}
