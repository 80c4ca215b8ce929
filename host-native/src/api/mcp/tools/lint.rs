//! `lint`: the issues of a pack, a document or the configuration of the server.

use std::sync::Arc;

use convengine_content::Content;
use convengine_content::config::import::ParsedPack;
use convengine_content::config::import::documents::CheckContext;
use convengine_content::config::lint::{Findings, lint_database, lint_document, lint_pack};
use convengine_core::pack::Pack;
use convengine_core::turn::Map;
use serde_json::{Value, json};

use super::developer::Description;
use super::{Answer, ToolResult, arguments_schema, failure_text, object_schema, run_in_place};
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::page;

/// Describes the tool.
pub fn describe() -> Description {
    let input = arguments_schema(
        json!({
            "pack": {"type": ["object", "string"], "description": "A pack, as an object or as text"},
            "document": {"type": ["object", "string"], "description": "A flow document, workflow, chain or AI agent, in place of a pack"},
            "cursor": {"type": "string", "description": "The next_cursor of the page before"},
        }),
        &[],
    );
    let output = object_schema(
        json!({
            "has_errors": {"type": "boolean"},
            "issues": {"type": "array", "items": {"type": "object"}},
            "next_cursor": {"type": "string"},
        }),
        &["has_errors", "issues"],
    );
    let about = "Returns the issues of a pack or a document, each with its place, its code and how to correct it, without storing anything. \
        Without arguments, the issues of the configuration and the drafts on the server.";
    ("Find issues", about, input, output)
}

/// What is linted.
#[derive(Debug)]
pub enum Subject {
    /// A pack.
    Pack(Box<Pack>),
    /// A document beside the drafts of the server.
    Document(Value),
    /// The configuration and the drafts of the server.
    Database,
}

/// Finds the issues of a subject.
///
/// # Errors
/// A message that says what is wrong.
pub async fn find(content: &Arc<Content>, subject: Subject) -> Result<Findings, String> {
    let content = Arc::clone(content);
    let findings = run_in_place(move || async move {
        let (database, providers) = (content.config_manager.database(), content.outbound.models.providers());
        let context =
            CheckContext { tree: content.config_manager.settings(), providers: Some(&providers), has_stub: false, has_no_model: false };
        match subject {
            Subject::Pack(pack) => lint_pack(&pack, context).await,
            Subject::Document(document) => lint_document(database, document, context).await,
            Subject::Database => lint_database(database, context).await,
        }
    });
    findings.await?.map_err(|it| failure_text(&it))
}

/// Runs the tool.
///
/// # Errors
/// A message that says what to send, or which rows cannot be stored at all.
pub async fn run(content: &Arc<Content>, arguments: Option<Map>) -> ToolResult {
    let arguments = Arguments::read(arguments, &["pack", "document", "cursor"])?;
    let cursor = arguments.text("cursor")?;
    let subject = match (arguments.pack_text("pack")?, arguments.object("document")?) {
        (Some(_), Some(_)) => return Err("pack and document exclude each other; send one of them".to_owned()),
        (Some(text), None) => Subject::Pack(Box::new(ParsedPack::parse(&text)?.pack)),
        (None, Some(document)) => Subject::Document(document),
        (None, None) => Subject::Database,
    };
    let findings = find(content, subject).await?;
    let (issues, next) = page(findings.to_json(), cursor)?;
    let mut found = json!({"has_errors": findings.has_errors(), "issues": issues});
    if let Some(next) = next {
        found["next_cursor"] = json!(next);
    }
    Ok(Answer::new(found))
}
