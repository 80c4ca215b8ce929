//! The bundle that a session runs: its document, those that it runs, and the tools that they call. (docs/spec/flows.md#9)

use std::collections::{BTreeSet, VecDeque};

use convengine_access::api_error::ApiError;
use convengine_core::config::flow::document::ProgramKind;
use convengine_core::config::flow::{chain_references, is_same_name};
use convengine_core::lint::flow::BoundPrograms;
use convengine_storage::Pool;
use convengine_storage::assistant::{DocumentKind, ProgramKey, draft, version};
use serde_json::{Value, json};

use super::references::{LATEST, Reference, find_references, find_tool_names};
use super::workspace_tools::{self, load_tools};

/// The maximum number of documents of a bundle.
pub const MAX_DOCUMENTS: usize = 32;

/// Why a bundle cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Too many documents run each other.
    #[error("the document runs more than {} others, directly or not; nest fewer documents", MAX_DOCUMENTS - 1)]
    TooManyDocuments,
    /// The database failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<BundleError> for ApiError {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::Database(error) => ApiError::from(error),
            BundleError::TooManyDocuments => ApiError::unprocessable(error.to_string()).with_code("too_many_documents"),
        }
    }
}

/// Returns what a session of a document runs: the document, or `{"root", "bound": [{"version", "document"}], "tools"}` for a kind that
/// runs others. What does not exist or is not published is not bound.
///
/// # Errors
/// Returns [`BundleError`].
pub async fn resolve_bundle(pool: &Pool, key: &ProgramKey, mut document: Value) -> Result<Value, BundleError> {
    // A draft is not completed yet; a published version has its tools.
    workspace_tools::complete(pool, &mut document).await?;
    if key.kind() == DocumentKind::Assistant {
        return Ok(document);
    }
    let mut tools: BTreeSet<String> = tool_names(key.kind(), &document);
    let mut open: VecDeque<Reference> = match key.kind() {
        DocumentKind::Chain => find_step_references(pool, &document).await?.into(),
        kind @ (DocumentKind::Assistant | DocumentKind::Workflow | DocumentKind::Agent) => find_references(kind, &document).into(),
    };
    let mut seen: BTreeSet<Reference> = BTreeSet::new();
    let mut bound = Vec::new();
    while let Some(reference) = open.pop_front() {
        if !seen.insert(reference.clone()) {
            continue;
        }
        let Some(document) = find_referenced(pool, &reference).await? else { continue };
        if bound.len() + 1 >= MAX_DOCUMENTS {
            return Err(BundleError::TooManyDocuments);
        }
        tools.extend(tool_names(reference.key.kind(), &document));
        open.extend(find_references(reference.key.kind(), &document));
        bound.push(json!({"version": reference.version, "document": document}));
    }
    let tools = load_tools(pool, &tools).await?;
    Ok(json!({"root": document, "bound": bound, "tools": tools}))
}

/// Returns the documents that the steps of a chain talk to: by id, else by a name that only one has.
async fn find_step_references(pool: &Pool, chain: &Value) -> sqlx::Result<Vec<Reference>> {
    let mut found = Vec::new();
    for (kind, target) in chain_references(chain) {
        let kind = DocumentKind::from(kind);
        if let Some(key) = find_by_id_or_name(pool, kind, &target).await? {
            found.push(Reference { key, version: LATEST.to_owned() });
        }
    }
    Ok(found)
}

async fn find_by_id_or_name(pool: &Pool, kind: DocumentKind, target: &str) -> sqlx::Result<Option<ProgramKey>> {
    if kind.is_id(target) {
        let key = ProgramKey::new(kind, target);
        if draft::find_assistant(pool, key.as_str()).await?.is_some() {
            return Ok(Some(key));
        }
    }
    let mut same: Vec<ProgramKey> =
        draft::list(pool, kind).await?.into_iter().filter(|it| is_same_name(&it.name, target)).map(|it| it.key).collect();
    Ok(if same.len() == 1 { same.pop() } else { None })
}

/// Returns the tools of the workspace that a document names.
pub async fn find_tools(pool: &Pool, kind: DocumentKind, document: &Value) -> sqlx::Result<Vec<Value>> {
    load_tools(pool, &tool_names(kind, document)).await
}

/// Returns what publishing a workflow needs to know of the documents and tools that it names, directly or not.
pub async fn load_programs(pool: &Pool, document: &Value, tools: &[Value]) -> sqlx::Result<BoundPrograms> {
    let ids = tools.iter().filter_map(|tool| tool.get("id")?.as_str().map(str::to_owned));
    let mut programs = BoundPrograms { tools: ids.collect(), ..BoundPrograms::default() };
    let mut open: VecDeque<Reference> = find_references(DocumentKind::Workflow, document).into();
    let mut seen: BTreeSet<Reference> = BTreeSet::new();
    // Beyond, the bundle of a session would be too large.
    while let Some(reference) = open.pop_front().filter(|_| seen.len() < MAX_DOCUMENTS * 2) {
        if !seen.insert(reference.clone()) {
            continue;
        }
        let Some(kind) = program_kind(reference.key.kind()) else { continue };
        let key = BoundPrograms::key(kind, reference.key.id());
        if !programs.versions.contains_key(&key)
            && let Some(versions) = list_versions(pool, &reference.key).await?
        {
            programs.versions.insert(key, versions);
        }
        if kind == ProgramKind::Workflow
            && let Some(document) = find_referenced(pool, &reference).await?
        {
            let nested = find_references(DocumentKind::Workflow, &document);
            let workflows = nested.iter().filter(|child| child.key.kind() == DocumentKind::Workflow).map(|child| child.key.id().to_owned());
            programs.nested.entry(reference.key.id().to_owned()).or_default().extend(workflows);
            open.extend(nested);
        }
    }
    Ok(programs)
}

/// Returns what publishing a chain needs to know of the documents that its steps may name.
pub async fn load_step_programs(pool: &Pool, chain: &Value) -> sqlx::Result<BoundPrograms> {
    let mut programs = BoundPrograms::default();
    let kinds: BTreeSet<ProgramKind> = chain_references(chain).into_iter().map(|it| it.0).collect();
    for kind in kinds {
        for about in draft::list(pool, DocumentKind::from(kind)).await? {
            let key = BoundPrograms::key(kind, about.key.id());
            programs.versions.insert(key.clone(), about.live_version.map(|_| LATEST.to_owned()).into_iter().collect());
            programs.names.insert(key, about.name);
        }
    }
    Ok(programs)
}

fn program_kind(kind: DocumentKind) -> Option<ProgramKind> {
    match kind {
        DocumentKind::Assistant => Some(ProgramKind::Assistant),
        DocumentKind::Workflow => Some(ProgramKind::Workflow),
        DocumentKind::Agent => Some(ProgramKind::Agent),
        DocumentKind::Chain => None,
    }
}

/// The versions of a document, with `latest` if it is published; `None` if it does not exist.
async fn list_versions(pool: &Pool, key: &ProgramKey) -> sqlx::Result<Option<Vec<String>>> {
    let Some(about) = draft::find_assistant(pool, key.as_str()).await? else { return Ok(None) };
    let latest = about.live_version.map(|_| LATEST.to_owned());
    let numbers = version::list(pool, key.as_str()).await?;
    Ok(Some(latest.into_iter().chain(numbers.iter().map(|it| it.number.to_string())).collect()))
}

/// The document that is referenced; `None` if it does not exist or has no such version.
async fn find_referenced(pool: &Pool, reference: &Reference) -> sqlx::Result<Option<Value>> {
    let key = reference.key.as_str();
    let number = match reference.version.as_str() {
        LATEST => draft::find_assistant(pool, key).await?.and_then(|it| it.live_version),
        number => number.parse().ok().filter(|it: &i64| it.to_string() == number),
    };
    let Some(number) = number else { return Ok(None) };
    let text = version::find_document(pool, key, number).await?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

fn tool_names(kind: DocumentKind, document: &Value) -> BTreeSet<String> {
    find_tool_names(kind, document).into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use convengine_storage::assistant::tool;
    use convengine_storage::assistant::version::NewVersion;
    use convengine_storage::testing::{Database, each_database};

    use super::*;

    fn workflow(id: &str, nodes: &[(&str, &str, &str)]) -> Value {
        let node = |(kind, member, target): &(&str, &str, &str)| json!({"type": kind, "data": {*member: target}});
        json!({"doc": "workflow_graph", "id": id, "nodes": nodes.iter().map(node).collect::<Vec<_>>()})
    }

    async fn publish(database: &mut Database, document: &Value) {
        let (key, text) = (ProgramKey::of_document(document), document.to_string());
        let revision = draft::save(&database.pool, key.as_str(), "", &text, draft::Expected::Anything, 1)
            .await
            .expect("an answer")
            .expect("a revision");
        let published = NewVersion { assistant: key.as_str(), revision, snapshot: "sha256:a", document: &text };
        assert!(version::publish(&mut database.connection, &published, 2).await.expect("an answer").is_some());
    }

    #[tokio::test]
    async fn a_bundle_has_what_is_published_and_ends_at_circles() {
        for mut database in each_database().await {
            let desk = json!({"doc": "conversation_flow", "id": "desk"});
            let nested = workflow("nested", &[("workflow", "workflow_id", "front"), ("tool", "tool_name", "find")]);
            let front = workflow(
                "front",
                &[
                    ("flow-agent", "assistant_id", "desk"),
                    ("workflow", "workflow_id", "nested"),
                    ("flow-agent", "assistant_id", "none"),
                    ("flow-agent", "assistant_id", "desk"),
                    ("tool", "tool_name", "unknown"),
                ],
            );
            for document in [&desk, &nested, &front] {
                publish(&mut database, document).await;
            }
            tool::save(&database.pool, "find", "{\"id\":\"find\"}", 1).await.expect("saved");
            tool::save(&database.pool, "other", "{}", 1).await.expect("saved");
            let key = ProgramKey::of_document(&front);
            let bundle = resolve_bundle(&database.pool, &key, front.clone()).await.expect("a bundle");
            let bound: Vec<_> = bundle["bound"].as_array().expect("a list").iter().map(|it| (&it["version"], &it["document"])).collect();
            let latest = json!(LATEST);
            assert_eq!(bound, [(&latest, &desk), (&latest, &nested), (&latest, &front)]);
            assert_eq!((&bundle["root"], &bundle["tools"]), (&front, &json!([{"id": "find"}])));
            let programs = load_programs(&database.pool, &front, &[]).await.expect("programs");
            assert_eq!(programs.versions[&BoundPrograms::key(ProgramKind::Assistant, "desk")], ["latest", "1"]);
            assert_eq!(programs.nested.get("nested").expect("a nested document"), &["front"]);
            assert!(!programs.versions.contains_key(&BoundPrograms::key(ProgramKind::Assistant, "none")));
        }
    }

    #[tokio::test]
    async fn a_bundle_has_a_limit() {
        for mut database in each_database().await {
            for number in 0..MAX_DOCUMENTS {
                publish(&mut database, &json!({"doc": "conversation_flow", "id": format!("a{number}")})).await;
            }
            let ids: Vec<String> = (0..MAX_DOCUMENTS).map(|it| format!("a{it}")).collect();
            let nodes: Vec<_> = ids.iter().map(|it| ("flow-agent", "assistant_id", it.as_str())).collect();
            let resolve = async |count: usize| {
                let document = workflow("front", &nodes[..count]);
                resolve_bundle(&database.pool, &ProgramKey::of_document(&document), document).await
            };
            assert!(resolve(MAX_DOCUMENTS - 1).await.is_ok());
            assert!(matches!(resolve(MAX_DOCUMENTS).await, Err(BundleError::TooManyDocuments)));
        }
    }
}
