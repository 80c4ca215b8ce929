//! Imports a pack into a database, in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_core::config::Issue;
use convengine_core::config::flow::DocumentIssue;
use convengine_core::lint::flow::ModelProvider;
use convengine_core::pack::Pack;
use convengine_host_base::exit::Failure;
use convengine_settings::Plan;
use convengine_settings::Settings;
use convengine_storage::import::disable_foreign_keys;
use convengine_storage::{self as storage, DatabaseConfig, activation};
use serde_json::Value;

use super::documents::CheckContext;
use super::scripts::ScriptedReplies;
use super::{advance_all_sequences, documents, knowledge, modules, replace, settings_left_out, workspace_tools};
use crate::Content;
use crate::config::snapshot::{ConfigState, Difference, record_activation};
use crate::config::{classifiers, compile};

/// What a pack is imported into.
#[derive(Debug, Clone)]
pub struct ImportTarget<'s> {
    /// The database.
    pub database: &'s DatabaseConfig,
    /// The `convengine` settings tree.
    pub tree: &'s Value,
    /// The workspace of the documents.
    pub workspace: &'s str,
    /// The plan with the quota of imports.
    pub plan: Plan,
    /// The providers of models that documents may name; `None` if unknown.
    pub providers: Option<BTreeMap<String, ModelProvider>>,
}

/// A pack with the replies that its scripts give.
#[derive(Debug, Clone)]
pub struct ParsedPack {
    /// The pack.
    pub pack: Pack,
    /// The replies.
    pub(super) scripts: ScriptedReplies,
}

/// The result of an import, or of a dry run.
#[derive(Debug)]
pub struct ImportReport {
    /// What changed, or would change.
    pub difference: Difference,
    /// The issues of all rows after the import.
    pub issues: Vec<Issue>,
    /// The issues of the documents and tools of the pack.
    pub document_issues: Vec<DocumentIssue>,
    /// Whether the import was strict and there are errors; nothing is imported then.
    pub is_refused: bool,
    /// Whether a dry run compares with an empty database, because there is none yet.
    pub is_new_database: bool,
    /// What to do with the settings of the pack, which are not stored, and which the target was not given itself; `None` without any.
    pub settings_left_out: Option<String>,
    /// The number of documents in the pack.
    pub documents: usize,
    /// The number of tools in the pack.
    pub tools: usize,
}

impl<'s> ImportTarget<'s> {
    /// The database of a command.
    pub fn from_settings(settings: &'s Settings) -> ImportTarget<'s> {
        let plan = settings.assistants.plan;
        let providers = documents::find_providers(settings);
        ImportTarget { database: &settings.database, tree: &settings.tree, workspace: settings.workspace(), plan, providers }
    }

    /// The database of a running server.
    pub fn from_content(content: &'s Content) -> ImportTarget<'s> {
        let manager = &content.config_manager;
        let providers = Some(content.outbound.models.providers());
        ImportTarget {
            database: manager.database(),
            tree: manager.settings(),
            workspace: &content.workspace,
            plan: content.plan,
            providers,
        }
    }
}

impl ParsedPack {
    /// Parses the text of a pack.
    ///
    /// # Errors
    /// A message that says where the text is not a pack.
    pub fn parse(text: &str) -> Result<ParsedPack, String> {
        let pack = Pack::parse(text).map_err(|it| it.to_string())?;
        let scripts = ScriptedReplies::parse(text, &pack).map_err(|it| format!("invalid pack: {it}"))?;
        Ok(ParsedPack { pack, scripts })
    }
}

impl ImportReport {
    /// The errors among the issues, one per line.
    pub fn errors(&self) -> Vec<String> {
        let of_rows = self.issues.iter().filter(|it| it.is_error()).map(ToString::to_string);
        of_rows.chain(self.document_issues.iter().filter(|it| it.is_error()).map(ToString::to_string)).collect()
    }
}

/// Imports a pack, replacing the rows of its tables; a dry run changes nothing.
///
/// # Errors
/// Exit code 1 with a line for each problem that prevents storing the pack, 3 if the database cannot be used; nothing is changed then.
pub async fn apply(target: &ImportTarget<'_>, parsed: &ParsedPack, strict: bool, dry_run: bool) -> Result<ImportReport, Failure> {
    let ParsedPack { pack, scripts } = parsed;
    let unusable = |it: sqlx::Error| storage::database_failure(target.database, &it);
    let (mut connection, is_new_database) = match dry_run {
        false => (storage::connect_or_create(target.database).await?, false),
        true => storage::connect_for_dry_run(target.database).await?,
    };
    disable_foreign_keys(&mut connection).await.map_err(unusable)?;
    connection.begin().await.map_err(unusable)?;
    activation::lock_configuration(&mut connection).await.map_err(unusable)?;
    let before = ConfigState::read(&mut connection, target.tree).await.map_err(unusable)?;
    let mut problems = replace(&mut connection, &pack.tables).await.map_err(unusable)?;
    problems.extend(modules::store(&mut connection, pack).await.map_err(unusable)?);
    problems.extend(scripts.find_problems());
    // What calls the fake service of the pack is not published.
    let context = CheckContext { tree: target.tree, providers: target.providers.as_ref(), has_stub: false, has_no_model: false };
    let documents = documents::check_pack(pack, context);
    problems.extend(documents::find_problems(&documents));
    let tools = workspace_tools::check_pack(pack, target.tree);
    problems.extend(workspace_tools::find_problems(&tools));
    problems.extend(knowledge::find_problems(pack));
    if !problems.is_empty() {
        return Err(Failure::check_failed(problems));
    }
    documents::check_quota(&mut connection, &documents, target).await?;
    scripts.store(&mut connection).await.map_err(unusable)?;
    let mut drafts = documents::compare_drafts(&mut connection, &documents).await.map_err(unusable)?;
    if !tools.is_empty() {
        drafts.extend(workspace_tools::compare(&mut connection, &tools).await.map_err(unusable)?);
    }
    documents::store(&mut connection, &documents, target.workspace).await.map_err(unusable)?;
    workspace_tools::store(&mut connection, &tools).await.map_err(unusable)?;
    let sources = knowledge::store(&mut connection, pack).await.map_err(unusable)?;
    let after = ConfigState::read(&mut connection, target.tree).await.map_err(unusable)?;
    let difference = Difference::between(&before, &after).with_drafts(drafts);
    let counts = (documents.len(), tools.len());
    let document_issues: Vec<DocumentIssue> =
        documents.into_iter().flat_map(|it| it.issues).chain(tools.into_iter().flat_map(|it| it.issues)).collect();
    let is_refused = strict && (after.issues.iter().any(Issue::is_error) || document_issues.iter().any(DocumentIssue::is_error));
    if dry_run || is_refused {
        connection.rollback().await.map_err(unusable)?;
    } else {
        record_activation(&mut connection, &before, "found", None).await.map_err(unusable)?;
        record_activation(&mut connection, &after, "import", None).await.map_err(unusable)?;
        advance_all_sequences(&mut connection, &pack.tables).await.map_err(unusable)?;
        connection.commit().await.map_err(unusable)?;
        for source in sources {
            source.index(target.database).await.map_err(unusable)?;
        }
        if pack.tables.0.contains_key("ce_intent_classifier") {
            // So that neither a start nor a refresh waits for training.
            let config = compile::compile_database(&mut connection, target.tree, None).await.map_err(unusable)?.config;
            classifiers::supply(&mut connection, &Arc::new(config)).await.map_err(unusable)?;
        }
    }
    let (documents, tools) = counts;
    let settings_left_out = settings_left_out::describe(&pack.settings, target.tree);
    Ok(ImportReport { difference, issues: after.issues, document_issues, is_refused, is_new_database, settings_left_out, documents, tools })
}
