//! `convengine lint`: prints the issues of a pack, a talk or the database.

use std::path::Path;

use convengine_core::config::Issue;
use convengine_core::config::flow::DocumentIssue;
use serde_json::{Value, json};

use crate::config::compile;
use crate::config::import;
use crate::config::import::documents::{self, CheckedDocument};
use crate::config::pack_file;
use crate::config::settings::{Settings, merge};
use crate::exit::Failure;
use crate::storage;

/// Runs the command.
///
/// # Errors
/// Exit code 1 if an issue is an error or rows cannot be stored.
pub async fn run(settings: &Settings, pack: Option<&Path>, json: bool) -> Result<(), Failure> {
    let Findings { rows, documents } = match pack {
        Some(file) => lint_pack(settings, file).await?,
        None => lint_database(settings).await?,
    };
    let of_documents = || documents.iter().flat_map(|it| &it.issues);
    if json {
        let all: Vec<_> = rows.iter().map(|it| json!(it)).chain(of_documents().map(|it| json!(it))).collect();
        println!("{}", json!(all));
    } else {
        rows.iter().for_each(|it| println!("{it}"));
        of_documents().for_each(|it| println!("{it}"));
    }
    let has_errors = rows.iter().any(Issue::is_error) || of_documents().any(DocumentIssue::is_error);
    if has_errors { Err(Failure::check_failed(Vec::new())) } else { Ok(()) }
}

/// The issues of rows, and the documents with theirs.
struct Findings {
    rows: Vec<Issue>,
    documents: Vec<CheckedDocument>,
}

async fn lint_pack(settings: &Settings, file: &Path) -> Result<Findings, Failure> {
    let pack = pack_file::read(file).map_err(|it| Failure::check_failed(vec![it.to_string()]))?;
    let mut tree = convengine_core::config::settings::normalize(&pack.settings);
    merge(&mut tree, settings.tree.clone());
    let documents = documents::check_pack(&pack, &tree);
    Ok(Findings { rows: import::lint_pack(&pack, &tree).await?, documents })
}

async fn lint_database(settings: &Settings) -> Result<Findings, Failure> {
    let unusable = |it: sqlx::Error| storage::database_failure(&settings.database, &it);
    let mut connection = storage::connect(&settings.database, false).await?;
    let rows = compile::lint_database(&mut connection, &settings.tree).await.map_err(unusable)?;
    let drafts = match storage::assistant::draft::has_table(&mut connection).await.map_err(unusable)? {
        true => storage::assistant::draft::list_documents(&mut connection).await.map_err(unusable)?,
        false => Vec::new(),
    };
    let tools = match storage::assistant::tool::has_table(&mut connection).await.map_err(unusable)? {
        true => storage::assistant::tool::list(&mut connection).await.map_err(unusable)?,
        false => Vec::new(),
    };
    let parse = |all: Vec<String>| all.iter().filter_map(|it| serde_json::from_str(it).ok()).collect::<Vec<Value>>();
    Ok(Findings { rows, documents: documents::check_documents(parse(drafts), &parse(tools), &settings.tree) })
}
