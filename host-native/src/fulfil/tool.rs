//! Tools of groups that this host carries out itself.

use convengine_core::config::tool_group;
use convengine_core::pack::StandIns;
use convengine_core::turn::{Answer, EffectError, EffectErrorKind, Reply, ToolReply, ToolRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{documents, files};
use crate::drive::Host;
use crate::settings::Roots;
use crate::store::Pool;

/// Answers a tool: by its script when it has one or when no row sets it up, else by its group.
pub async fn answer(host: &Host, stand_ins: &StandIns, request: &ToolRequest) -> Answer {
    if request.spec.is_none() || stand_ins.has_tool(request) {
        return stand_ins.tool(request);
    }
    match of_group(&host.readers, &host.file_roots, request).await {
        Ok(text) => Answer::Ok(Reply::Tool(ToolReply { text: host.secrets.scrub(&text).into_owned() })),
        Err(error) => Answer::Error(EffectError { message: host.secrets.scrub(&error.message).into_owned(), ..error }),
    }
}

/// Answers a tool that a row sets up, by its group.
///
/// # Errors
/// Why there is no answer.
pub async fn of_group(documents: &Pool, roots: &Roots, request: &ToolRequest) -> Result<String, EffectError> {
    match tool_group(&request.tool_group).as_str() {
        "DOCUMENT_RETRIEVAL" => documents::search(documents, request).await,
        "FILES" => files::answer(roots, request).await,
        other => Err(nobody(other)),
    }
}

fn nobody(group: &str) -> EffectError {
    let message = format!("no executor for tool group '{group}': give the tool one of the groups of this server, or a script");
    EffectError::new(EffectErrorKind::Unsupported, message)
}

/// How a tool is set up; the defaults where its row says nothing.
///
/// # Errors
/// What of it cannot be used.
pub fn spec<T: DeserializeOwned + Default>(request: &ToolRequest) -> Result<T, EffectError> {
    match request.spec.as_deref() {
        None | Some(Value::Null) => Ok(T::default()),
        Some(spec) => T::deserialize(spec).map_err(|it| invalid(format!("the spec of the tool cannot be used: {it}"))),
    }
}

/// An argument as text; absent when it is missing, null or blank.
pub fn argument(request: &ToolRequest, name: &str) -> Option<String> {
    let text = match request.args.get(name)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => return None,
        other => other.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// A tool or a call that cannot be used as it is.
pub fn invalid(message: String) -> EffectError {
    EffectError::new(EffectErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests;
