//! `convengine lint`: prints the issues of a pack, a talk or the database.

use std::path::Path;

use convengine_core::config::flow::DocumentIssue;
use convengine_core::config::{Config, Issue, Tables};
use convengine_core::lint;
use convengine_core::pack::Pack;
use convengine_host_base::exit::Failure;
use convengine_host_base::pack_file;
use convengine_host_base::print_line;
use convengine_settings::{Settings, merge};
use convengine_storage::assistant::ProgramKey;
use convengine_storage::{self as storage, Connection, DatabaseConfig};
use serde_json::{Value, json};

use crate::config::compile;
use crate::config::import;
use crate::config::import::documents::{self, CheckContext, CheckedDocument};

/// Runs the command.
///
/// # Errors
/// Exit code 1 if an issue is an error or rows cannot be stored.
pub async fn run(settings: &Settings, pack: Option<&Path>, json: bool) -> Result<(), Failure> {
    let providers = documents::find_providers(settings);
    let context =
        CheckContext { tree: &settings.tree, providers: providers.as_ref(), has_stub: false, has_no_model: settings.llm.is_off() };
    let findings = match pack {
        Some(file) => {
            let pack = pack_file::read(file).map_err(|error| Failure::check_failed(vec![error.to_string()]))?;
            lint_pack(&pack, context).await?
        }
        None => lint_database(&settings.database, context).await?,
    };
    if json {
        print_line!("{}", json!(findings.to_json()));
    } else {
        findings.lines().for_each(|it| print_line!("{it}"));
    }
    if findings.has_errors() { Err(Failure::check_failed(Vec::new())) } else { Ok(()) }
}

/// The issues of rows, and the documents with theirs.
#[derive(Debug)]
pub struct Findings {
    rows: Vec<Issue>,
    documents: Vec<CheckedDocument>,
}

impl Findings {
    /// All issues as JSON, those of rows first.
    pub fn to_json(&self) -> Vec<Value> {
        self.rows.iter().map(|it| json!(it)).chain(self.of_documents().map(|it| json!(it))).collect()
    }

    /// A line for each issue, those of rows first.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(ToString::to_string).chain(self.of_documents().map(ToString::to_string))
    }

    /// Whether an issue is an error.
    pub fn has_errors(&self) -> bool {
        self.rows.iter().any(Issue::is_error) || self.of_documents().any(DocumentIssue::is_error)
    }

    fn of_documents(&self) -> impl Iterator<Item = &DocumentIssue> {
        self.documents.iter().flat_map(|it| &it.issues)
    }
}

/// Lints a pack with its own settings, over which those of the context take precedence, and with its own fake service, if it has one.
///
/// # Errors
/// Exit code 1 with a line for each problem that prevents storing the pack.
pub async fn lint_pack(pack: &Pack, context: CheckContext<'_>) -> Result<Findings, Failure> {
    let mut merged = convengine_core::config::settings::normalize(&pack.settings);
    merge(&mut merged, context.tree.clone());
    let documents = documents::check_pack(pack, CheckContext { tree: &merged, has_stub: !pack.http.is_empty(), ..context });
    let mut rows = import::lint_pack(pack, &merged).await?;
    rows.extend(pack.script_issues());
    if context.has_no_model {
        rows.extend(find_model_calls(&pack.tables, &merged));
    }
    Ok(Findings { rows, documents })
}

/// Returns the issues of rows that call a model, for settings that say that there is none.
fn find_model_calls(tables: &Tables, tree: &Value) -> Vec<Issue> {
    let (config, issues) = Config::compile(tables, tree);
    lint::check_without_model(tables, config.settings.profile, &issues)
}

/// Lints the rows and the drafts of a database.
///
/// # Errors
/// Exit code 3 if the database cannot be used.
pub async fn lint_database(database: &DatabaseConfig, context: CheckContext<'_>) -> Result<Findings, Failure> {
    let unusable = |it: sqlx::Error| storage::database_failure(database, &it);
    let mut connection = storage::connect(database, false).await?;
    connection.begin_read().await.map_err(unusable)?;
    let mut rows = compile::lint_database(&mut connection, context.tree, Vec::new()).await.map_err(unusable)?;
    if context.has_no_model {
        let tables = storage::config::load_tables(&mut connection).await.map_err(unusable)?;
        rows.extend(find_model_calls(&tables, context.tree));
    }
    let (drafts, tools) = load_drafts(&mut connection).await.map_err(unusable)?;
    Ok(Findings { rows, documents: documents::check_documents(drafts, &tools, context) })
}

/// Lints a document beside the drafts and the tools of a database, which it may run.
///
/// # Errors
/// Exit code 3 if the database cannot be used.
pub async fn lint_document(database: &DatabaseConfig, document: Value, context: CheckContext<'_>) -> Result<Findings, Failure> {
    let mut connection = storage::connect(database, false).await?;
    let (drafts, tools) = load_drafts(&mut connection).await.map_err(|it| storage::database_failure(database, &it))?;
    let key = ProgramKey::of_document(&document);
    let others = drafts.into_iter().filter(|draft| ProgramKey::of_document(draft) != key);
    let documents = std::iter::once(document).chain(others).collect();
    let mut documents = documents::check_documents(documents, &tools, context);
    documents.truncate(1);
    Ok(Findings { rows: Vec::new(), documents })
}

/// Loads the drafts and the tools of a database; there are none in one that is not migrated.
async fn load_drafts(connection: &mut Connection) -> sqlx::Result<(Vec<Value>, Vec<Value>)> {
    let drafts = match storage::assistant::draft::has_table(connection).await? {
        true => storage::assistant::draft::list_documents(connection).await?,
        false => Vec::new(),
    };
    let tools = match storage::assistant::tool::has_table(connection).await? {
        true => storage::assistant::tool::list(connection).await?,
        false => Vec::new(),
    };
    let parse = |all: Vec<String>| all.iter().filter_map(|text| serde_json::from_str(text).ok()).collect::<Vec<Value>>();
    Ok((parse(drafts), parse(tools)))
}
