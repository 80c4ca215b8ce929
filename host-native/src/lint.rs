//! `convengine lint`: the issues of a pack, of a talk's pack or of the database.

use std::path::Path;

use convengine_core::config::Issue;

use crate::exit::Failure;
use crate::settings::{Settings, merge};
use crate::{config, import, store};

/// Runs the command.
///
/// # Errors
/// Exit code 1 when there is an error among the issues, or rows that cannot be stored at all.
pub async fn command(settings: &Settings, pack: Option<&Path>, json: bool) -> Result<(), Failure> {
    let issues = match pack {
        Some(file) => of_pack(settings, file).await?,
        None => of_database(settings).await?,
    };
    if json {
        println!("{}", serde_json::to_string(&issues).unwrap_or_default());
    } else {
        issues.iter().for_each(|it| println!("{it}"));
    }
    if issues.iter().any(Issue::is_error) { Err(Failure::not_right(Vec::new())) } else { Ok(()) }
}

async fn of_pack(settings: &Settings, file: &Path) -> Result<Vec<Issue>, Failure> {
    let pack = import::read(file)?;
    let mut tree = convengine_core::config::settings::normalise(&pack.settings);
    merge(&mut tree, settings.tree.clone());
    import::rehearse(&pack, &tree).await
}

async fn of_database(settings: &Settings) -> Result<Vec<Issue>, Failure> {
    let mut connection = store::connect(&settings.database, false).await?;
    let issues = config::lint_database(&mut connection, &settings.tree).await;
    issues.map_err(|it| store::unusable(&settings.database, &it))
}
