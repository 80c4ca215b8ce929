//! `convengine secret`: rotates the key that seals stored secrets.

use convengine_content::secret_store::{Resealed, SecretStore};
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_settings::secrets::key_source::{KeyFileLock, KeySource, add_key, keep_keys};
use convengine_storage as storage;

/// The keys that stay in the file of a database: the new one, and the former one for running servers and for backups.
const KEPT_KEYS: usize = 2;

/// Seals all secrets with the current key. Makes that key first where it is in a file beside the database.
///
/// # Errors
/// Exit code 1 if a secret cannot be opened, 2 if there is no key, 3 if the database is unavailable.
pub async fn rotate(settings: &Settings) -> Result<(), Failure> {
    storage::connect_existing(&settings.database).await?.close().await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    let pool = storage::open_reader_pool(&settings.database).await?;
    let store = SecretStore::open(settings, &pool).await?;
    let failed = |path: &std::path::Path, it: std::io::Error| {
        Failure::service_unavailable(format!("cannot write key file '{}': {it}; check its permissions", path.display()))
    };
    // Another rotation would remove keys that this one still needs.
    let mut lock = None;
    if let Some(KeySource::BesideDatabase(path)) = &settings.secrets_key {
        lock = Some(KeyFileLock::acquire(path).map_err(|it| failed(path, it))?);
        check_opened(&store.list_unopened(settings, &pool).await?)?;
        add_key(path).map_err(|it| failed(path, it))?;
    }
    let Resealed { key_id, changed, unchanged, unopened } = store.reseal_all(settings, &pool).await?;
    pool.close().await;
    check_opened(&unopened)?;
    print_line!("sealed {changed} secrets with key {key_id}; {unchanged} were sealed with it before");
    match &settings.secrets_key {
        Some(KeySource::BesideDatabase(path)) => {
            keep_keys(path, KEPT_KEYS).map_err(|it| failed(path, it))?;
            print_line!("the former key stays in '{}' until the next rotation, for running servers and backups", path.display());
        }
        Some(source) if changed == 0 => print_line!("to rotate, put a new key before the current one in {source}, and run this again"),
        Some(source) => print_line!("remove the former key from {source} when all servers have the new one and no backup needs it"),
        None => {}
    }
    drop(lock);
    Ok(())
}

fn check_opened(unopened: &[String]) -> Result<(), Failure> {
    if unopened.is_empty() {
        return Ok(());
    }
    let line = |it: &String| format!("secret '{it}' cannot be opened: add the key that sealed it, or delete the secret and store it again");
    Err(Failure::check_failed(unopened.iter().map(line).collect()))
}
