//! `convengine lint`: prints the issues of a pack, a talk or the database.

use std::path::Path;

use convengine_core::config::Issue;
use convengine_core::config::flow::DocumentIssue;
use serde_json::json;

use crate::exit::Failure;
use crate::import::documents::{self, Checked};
use crate::settings::{Settings, merge};
use crate::{config, import, pack_file, store};

/// Runs the command.
///
/// # Errors
/// Exit code 1 if an issue is an error or rows cannot be stored.
pub async fn command(settings: &Settings, pack: Option<&Path>, json: bool) -> Result<(), Failure> {
    let Found { rows, documents } = match pack {
        Some(file) => of_pack(settings, file).await?,
        None => of_database(settings).await?,
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
    if has_errors { Err(Failure::not_right(Vec::new())) } else { Ok(()) }
}

/// The issues of rows, and the documents with theirs.
struct Found {
    rows: Vec<Issue>,
    documents: Vec<Checked>,
}

async fn of_pack(settings: &Settings, file: &Path) -> Result<Found, Failure> {
    let pack = pack_file::read(file).map_err(|it| Failure::not_right(vec![it.to_string()]))?;
    let mut tree = convengine_core::config::settings::normalise(&pack.settings);
    merge(&mut tree, settings.tree.clone());
    let documents = documents::of(&pack, &tree);
    Ok(Found { rows: import::rehearse(&pack, &tree).await?, documents })
}

async fn of_database(settings: &Settings) -> Result<Found, Failure> {
    let unusable = |it: sqlx::Error| store::unusable(&settings.database, &it);
    let mut connection = store::connect(&settings.database, false).await?;
    let rows = config::lint_database(&mut connection, &settings.tree).await.map_err(unusable)?;
    let drafts = match store::assistant::draft::has_table(&mut connection).await.map_err(unusable)? {
        true => store::assistant::draft::documents(&mut connection).await.map_err(unusable)?,
        false => Vec::new(),
    };
    let drafts = drafts.into_iter().filter_map(|it| serde_json::from_str(&it).ok());
    Ok(Found { rows, documents: documents::checked(drafts, &settings.tree) })
}
