//! `import`: what a pack would change on the server, and the change itself.

use std::sync::Arc;

use axum::http::StatusCode;
use convengine_access::security_log::LoggedRequest;
use convengine_content::Content;
use convengine_content::config::active::ReloadError;
use convengine_content::config::import::{ImportReport, ImportTarget, ParsedPack, apply};
use convengine_core::turn::Map;
use convengine_host_base::exit::Failure;
use serde_json::{Value, json};

use super::developer::Description;
use super::{Answer, ToolResult, arguments_schema, database_text, failure_text, object_schema, run_in_place};
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::{MAX_BYTES, page};
use crate::api::mcp::server::McpServer;

/// Describes the tool.
pub fn describe() -> Description {
    let input = arguments_schema(
        json!({
            "pack": {"type": ["object", "string"], "description": "A pack, as an object or as text"},
            "dry_run": {"type": "boolean", "default": true, "description": "`false` applies the import"},
            "strict": {"type": "boolean", "default": false, "description": "Whether to import nothing if there are errors"},
        }),
        &["pack"],
    );
    let output = object_schema(
        json!({
            "imported": {"type": "boolean", "description": "Whether the server has changed"},
            "is_refused": {"type": "boolean", "description": "Whether errors prevent a strict import"},
            "changes": {"type": "object", "description": "Rows, settings and issues before and after, and the drafts"},
            "issues": {"type": "array", "items": {"type": "object"}},
            "omitted_issues": {"type": "integer", "description": "How many more issues there are; use lint for all"},
            "settings_left_out": {"type": "string", "description": "What to do with settings of the pack, which are not imported"},
            "next": {"type": "string", "description": "What to do next"},
        }),
        &["imported", "is_refused", "changes", "issues", "next"],
    );
    let about = "Imports a pack: replaces the rows of the tables that it contains and saves its documents as drafts. By default a dry run, \
        which returns the changes and the issues and stores nothing. Show the changes to the user before you send dry_run=false.";
    ("Import a pack", about, input, output)
}

/// Runs the tool.
///
/// # Errors
/// A message that says what to send, or which rows cannot be stored.
pub async fn run(server: &McpServer, arguments: Option<Map>) -> ToolResult {
    let arguments = Arguments::read(arguments, &["pack", "dry_run", "strict"])?;
    let (dry_run, strict) = (arguments.flag("dry_run", true)?, arguments.flag("strict", false)?);
    let text = arguments.pack_text("pack")?.ok_or("pack is missing; send a pack, see convengine://reference/packs")?;
    let parsed = ParsedPack::parse(&text)?;
    let host = Arc::clone(server.host());
    let logged = LoggedRequest::with_action("config.import", "/mcp", server.caller(), server.client());
    if !dry_run {
        logged.record_start(&host.content.readers, &host.turns.meter).await.map_err(|it| database_text(&it))?;
    }
    // Runs to its end even if the call is cancelled: rows that are stored must be loaded too.
    let done = run_in_place(move || async move { import(&host.content, &parsed, strict, dry_run).await }).await?;
    if !dry_run {
        let is_done = done.as_ref().is_ok_and(|it| it.1);
        let status = if is_done { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
        logged.record_end(&server.host().content.readers, &server.host().turns.meter, status, None).await;
    }
    let (report, is_imported, next) = done.map_err(|it| failure_text(&it))?;
    render(&report, is_imported, next)
}

/// Imports a pack and activates its rows. Returns what happened, whether the server has changed, and what to do next.
async fn import(
    content: &Content,
    parsed: &ParsedPack,
    strict: bool,
    dry_run: bool,
) -> Result<(ImportReport, bool, &'static str), Failure> {
    let report = apply(&ImportTarget::from_content(content), parsed, strict, dry_run).await?;
    let is_imported = !dry_run && !report.is_refused;
    let reloaded = if is_imported { Some(content.config_manager.refresh().await) } else { None };
    let next = match reloaded {
        None if report.is_refused => "nothing is imported: correct the errors, or omit strict",
        None => "nothing is changed yet: play the pack, then import it with dry_run=false",
        Some(Ok(_)) if report.documents > 0 => {
            "the rows are active; publish the drafts over HTTP, each published assistant gets an ask_ tool"
        }
        Some(Ok(_)) => "the rows are active",
        Some(Err(ReloadError::NewErrors(_))) => {
            "the rows are stored, but have new errors, so that the former ones stay active: correct them and import again"
        }
        Some(Err(ReloadError::Database(_))) => "the rows are stored, but not active: import again",
    };
    Ok((report, is_imported, next))
}

fn render(report: &ImportReport, is_imported: bool, next: &str) -> ToolResult {
    let all: Vec<Value> = report.issues.iter().map(|it| json!(it)).chain(report.document_issues.iter().map(|it| json!(it))).collect();
    let count = all.len();
    let (issues, _) = page(all, None)?;
    let mut changes = json!(report.difference);
    if changes.to_string().len() > MAX_BYTES {
        changes = summarize(&changes);
    }
    let mut done = json!({"imported": is_imported, "is_refused": report.is_refused, "changes": changes, "issues": issues, "next": next});
    if let Some(line) = &report.settings_left_out {
        done["settings_left_out"] = json!(line);
    }
    if issues.len() < count {
        done["omitted_issues"] = json!(count - issues.len());
    }
    Ok(Answer::new(done))
}

/// The number of changes of each table, in place of too many rows.
fn summarize(changes: &Value) -> Value {
    let tables = changes["tables"].as_object().into_iter().flatten();
    let size = |table: &Value, member: &str| table[member].as_array().map_or(0, Vec::len);
    let count = |it: &Value| json!({"added": size(it, "added"), "removed": size(it, "removed"), "changed": size(it, "changed")});
    let tables: Map = tables.map(|(name, it)| (name.clone(), count(it))).collect();
    json!({"before": changes["before"], "after": changes["after"], "tables": tables, "omitted": "the rows, which are too many for a result"})
}
