//! Executes tools of the groups DOCUMENT_RETRIEVAL and FILES, and reads what a row configures.

use convengine_core::config::canonical_tool_group;
use convengine_core::turn::{EffectError, EffectErrorKind, ToolRequest};
use convengine_host_base::blocking_share::BlockingShare;
use convengine_settings::Roots;
use convengine_storage::Pool;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{documents, files};

/// Executes a tool that a row configures, by its group, and returns its result as text.
///
/// # Errors
/// `Unsupported` for another group, or the failure of the group's executor.
pub async fn execute_by_group(
    blocking: &BlockingShare,
    documents: &Pool,
    roots: &Roots,
    request: &ToolRequest,
) -> Result<String, EffectError> {
    match canonical_tool_group(&request.tool_group).as_str() {
        "DOCUMENT_RETRIEVAL" => documents::search(documents, request).await,
        "FILES" => files::execute(blocking, roots, request).await,
        other => Err(unsupported_group(other)),
    }
}

fn unsupported_group(group: &str) -> EffectError {
    let message = format!("no executor for tool group '{group}': give the tool one of the groups of this server, or a script");
    EffectError::new(EffectErrorKind::Unsupported, message)
}

/// Parses the tool's configuration; missing members have their defaults.
///
/// # Errors
/// `Invalid` for a configuration of another form.
pub(crate) fn parse_spec<T: DeserializeOwned + Default>(request: &ToolRequest) -> Result<T, EffectError> {
    match request.spec.as_deref() {
        None | Some(Value::Null) => Ok(T::default()),
        Some(spec) => T::deserialize(spec).map_err(|error| invalid(format!("the spec of the tool cannot be used: {error}"))),
    }
}

/// An argument as text; `None` if it is missing, null or blank.
pub(crate) fn argument_text(request: &ToolRequest, name: &str) -> Option<String> {
    let text = match request.args.get(name)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => return None,
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// The error for a wrong tool configuration or call.
pub(crate) fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}
