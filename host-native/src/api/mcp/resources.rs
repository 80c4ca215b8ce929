//! Resources: the reference, documents, the issues of the configuration, and journals.

use axum::http::Uri;
use convengine_access::scope::Scopes;
use convengine_host_base::uuid_text::parse_uuid;
use convengine_storage::assistant::draft::{self, Assistant};
use convengine_storage::assistant::{DocumentKind, ProgramKey, version};
use convengine_storage::conversations::{self, ConversationFilter};
use convengine_storage::turn;
use rmcp::ErrorData as McpError;
use rmcp::model::{ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use rust_embed::Embed;
use serde_json::{Value, json};

use super::pages::{cut, invalid_cursor};
use super::server::{McpServer, database_error, invalid_params};
use super::tools::lint;
use crate::ops::journal_export;

const PREFIX: &str = "convengine://";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// The number of conversations of a page.
const PAGE_SIZE: i64 = 100;

/// The cursor of the first page of conversations; that of the others has the last one at its end.
const CONVERSATIONS: &str = "conversations";

#[derive(Embed)]
#[folder = "../docs/reference"]
struct Reference;

/// The path that refusals of shared functions name.
pub fn uri() -> Uri {
    Uri::from_static(super::PATH)
}

/// Lists the resources of a caller from a cursor on: first all others, then the conversations, the newest first.
///
/// # Errors
/// Invalid parameters for an unknown cursor, an internal error if the database is unavailable.
pub async fn list(server: &McpServer, cursor: Option<&str>) -> Result<ListResourcesResult, McpError> {
    let Some(cursor) = cursor else {
        let mut all = reference();
        if server.permits(Scopes::ADMIN) {
            all.push(resource("issues", "Issues", "The issues of the configuration and the drafts", JSON));
            all.extend(documents(server).await?);
        }
        let mut result = ListResourcesResult::with_all_items(all);
        result.next_cursor = server.permits(Scopes::READ).then(|| CONVERSATIONS.to_owned());
        return Ok(result);
    };
    let after = cursor.strip_prefix(CONVERSATIONS).filter(|_| server.permits(Scopes::READ)).and_then(parse_position);
    let after = after.ok_or_else(|| invalid_params(invalid_cursor(cursor)))?;
    let filter = ConversationFilter { cursor: after, limit: PAGE_SIZE, ..ConversationFilter::default() };
    let page = conversations::find(&server.host().content.readers, &filter).await.map_err(|it| database_error(&it))?;
    let next = page.last().filter(|_| i64::try_from(page.len()).is_ok_and(|it| it == PAGE_SIZE));
    let next = next.map(|it| format!("{CONVERSATIONS}:{}:{}", it.updated_at_ms, it.conversation_id));
    let journal = |id: &str, at: &str| {
        resource(&format!("conversations/{id}/journal"), id, &format!("The journal of a conversation, last changed {at}"), JSON)
    };
    let mut result = ListResourcesResult::with_all_items(page.iter().map(|it| journal(&it.conversation_id, &it.updated_at)).collect());
    result.next_cursor = next;
    Ok(result)
}

/// Parses the end of a cursor: nothing, or the last conversation of the page before.
fn parse_position(text: &str) -> Option<Option<(i64, String)>> {
    if text.is_empty() {
        return Some(None);
    }
    let (at, id) = text.strip_prefix(':')?.split_once(':')?;
    Some(Some((at.parse().ok()?, parse_uuid(id)?)))
}

fn resource(path: &str, name: &str, about: &str, kind: &str) -> Resource {
    Resource::new(format!("{PREFIX}{path}"), name).with_description(about).with_mime_type(kind)
}

fn reference() -> Vec<Resource> {
    let mut names: Vec<String> = Reference::iter().filter_map(|file| file.strip_suffix(".md").map(str::to_owned)).collect();
    names.sort_unstable();
    names
        .iter()
        .filter(|it| *it != "README")
        .map(|name| resource(&format!("reference/{name}"), name, &format!("Reference: {name}"), MARKDOWN))
        .collect()
}

async fn documents(server: &McpServer) -> Result<Vec<Resource>, McpError> {
    let mut all = Vec::new();
    for kind in DocumentKind::ALL {
        let found = draft::list(&server.host().content.readers, kind).await.map_err(|it| database_error(&it))?;
        all.extend(found.iter().flat_map(|it| describe(kind, it)));
    }
    Ok(all)
}

/// The draft of a document, and its live version.
fn describe(kind: DocumentKind, document: &Assistant) -> Vec<Resource> {
    let path = format!("documents/{}/{}", kind.name(), document.key.id());
    let draft = resource(&path, &document.name, &format!("The draft of the {} '{}'", kind.title(), document.key.id()), JSON);
    let of_version = |it: i64| {
        let about = format!("The live version of the {} '{}'", kind.title(), document.key.id());
        resource(&format!("{path}/versions/{it}"), &format!("{} v{it}", document.name), &about, JSON)
    };
    std::iter::once(draft).chain(document.live_version.map(of_version)).collect()
}

/// The templates of a caller.
pub fn templates(server: &McpServer) -> Vec<ResourceTemplate> {
    let template = |path: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(format!("{PREFIX}{path}"), name).with_description(about).with_mime_type(kind)
    };
    let mut all = vec![template("reference/{name}", "Reference", "A page of the reference, such as packs or talks", MARKDOWN)];
    if server.permits(Scopes::READ) {
        all.push(template(
            "conversations/{id}/journal",
            "Journal",
            "The journals of a conversation or session, and their configurations",
            JSON,
        ));
    }
    if server.permits(Scopes::ADMIN) {
        let about = "The draft of an assistant, workflow, chain or agent";
        all.push(template("documents/{kind}/{id}", "Draft", about, JSON));
        all.push(template("documents/{kind}/{id}/versions/{version}", "Version", "A published version of a document", JSON));
    }
    all
}

/// Reads a resource.
///
/// # Errors
/// Not found if the caller has no such resource, an internal error if the database is unavailable.
pub async fn read(server: &McpServer, uri: &str) -> Result<ReadResourceResult, McpError> {
    let unknown = || ErrorData::resource_not_found("resource not found; read one that resources/list returns", Some(json!({"uri": uri})));
    let parts: Vec<&str> = uri.strip_prefix(PREFIX).ok_or_else(unknown)?.split('/').collect();
    let (text, kind) = match parts.as_slice() {
        ["reference", name] => (page_of_reference(name), MARKDOWN),
        ["issues"] if server.permits(Scopes::ADMIN) => (Some(issues(server).await?), JSON),
        ["conversations", id, "journal"] if server.permits(Scopes::READ) => (journal(server, id).await?, JSON),
        ["documents", kind, id] if server.permits(Scopes::ADMIN) => (draft_of(server, kind, id).await?, JSON),
        ["documents", kind, id, "versions", number] if server.permits(Scopes::ADMIN) => (version_of(server, kind, id, number).await?, JSON),
        _ => (None, JSON),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text.ok_or_else(unknown)?, uri).with_mime_type(kind)]))
}

fn page_of_reference(name: &str) -> Option<String> {
    let file = Reference::get(&format!("{name}.md"))?;
    Some(cut(String::from_utf8_lossy(&file.data).into_owned(), "the rest is in the documentation"))
}

async fn issues(server: &McpServer) -> Result<String, McpError> {
    let findings = lint::find(&server.host().content, lint::Subject::Database).await.map_err(|it| ErrorData::internal_error(it, None))?;
    Ok(cut(Value::from(findings.to_json()).to_string(), "call the tool lint for pages of them"))
}

async fn journal(server: &McpServer, id: &str) -> Result<Option<String>, McpError> {
    let Some(id) = parse_uuid(id) else { return Ok(None) };
    let host = server.host();
    let turns = turn::list_ended(&host.content.readers, &id).await.map_err(|it| database_error(&it))?;
    if turns.is_empty() {
        return Ok(None);
    }
    let all = journal_export::export_turns(&host.content.readers, &id, turns).await.map_err(|it| database_error(&it))?;
    Ok(Some(cut(all.to_string(), "GET /api/v1/conversation/journal/{id} returns all")))
}

async fn draft_of(server: &McpServer, kind: &str, id: &str) -> Result<Option<String>, McpError> {
    let Some(key) = parse_key(kind, id) else { return Ok(None) };
    let found = draft::find(&server.host().content.readers, key.as_str()).await.map_err(|it| database_error(&it))?;
    Ok(found.map(|it| cut(it.document, "the whole draft is available over HTTP")))
}

async fn version_of(server: &McpServer, kind: &str, id: &str, number: &str) -> Result<Option<String>, McpError> {
    let (Some(key), Ok(number)) = (parse_key(kind, id), number.parse()) else { return Ok(None) };
    let found = version::find_document(&server.host().content.readers, key.as_str(), number).await.map_err(|it| database_error(&it))?;
    Ok(found.map(|it| cut(it, "restore the version over HTTP to read all of it")))
}

fn parse_key(kind: &str, id: &str) -> Option<ProgramKey> {
    let kind = DocumentKind::from_name(kind)?;
    kind.is_id(id).then(|| ProgramKey::new(kind, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_embedded() {
        let names: Vec<String> = reference().into_iter().map(|it| it.name).collect();
        assert!(["packs", "talks", "nodes", "tables"].iter().all(|page| names.iter().any(|name| name == page)), "{names:?}");
        assert!(page_of_reference("talks").is_some_and(|it| it.starts_with("# Talks")));
        assert_eq!(page_of_reference("../guide/access"), None);
    }

    #[test]
    fn cursors_name_the_last_conversation() {
        let id = "4d7fe557-03ba-56be-b8c3-a9a5d12f0d69";
        assert_eq!(parse_position(""), Some(None));
        assert_eq!(parse_position(&format!(":5:{id}")), Some(Some((5, id.to_owned()))));
        for text in ["x", ":", ":5", ":x:y", ":5:y"] {
            assert_eq!(parse_position(text), None, "{text}");
        }
    }
}
