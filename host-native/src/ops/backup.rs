//! `convengine backup`: copies an SQLite database and says what the copy holds.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use convengine_content::secret_store::SecretStore;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_storage::{self as storage, backup};

/// Runs the command.
///
/// # Errors
/// Exit code 2 on PostgreSQL or if the file exists, 3 if the database is unavailable.
pub async fn run(settings: &Settings, file: &Path) -> Result<(), Failure> {
    let config = &settings.database;
    let database = |it: sqlx::Error| storage::database_failure(config, &it);
    let key = settings.secrets_key.as_ref().map_or_else(|| "convengine.secrets-key".to_owned(), ToString::to_string);
    if config.is_postgres() {
        return Err(Failure::invalid_usage(format!(
            "backup copies SQLite files; on PostgreSQL run 'pg_dump --format=custom --file={} {}' and keep the key of stored secrets, in \
             {key}, apart from it",
            file.display(),
            config.redacted_url()
        )));
    }
    let mut connection = storage::connect_existing(config).await?;
    let pool = storage::open_reader_pool(config).await?;
    // Seals secrets that were stored before there was a key, so that the copy has none that is plain.
    SecretStore::open(settings, &pool).await?;
    pool.close().await;
    let path = file.to_str().ok_or_else(|| Failure::invalid_usage("the file name is not valid UTF-8; choose another one"))?;
    // SQLite keeps the mode of an empty file.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::invalid_usage(format!("file '{path}' exists; choose another name")),
        _ => Failure::service_unavailable(format!("cannot write file '{path}': {error}")),
    })?;
    if let Err(error) = backup::copy(&mut connection, path).await {
        let _ = std::fs::remove_file(file);
        return Err(database(error));
    }
    let synced = std::fs::File::open(file).and_then(|it| it.sync_all());
    synced.map_err(|error| Failure::service_unavailable(format!("cannot write file '{path}': {error}")))?;
    let held = backup::count(&mut connection, path).await.map_err(database)?;
    print_line!("copied {} to {path}", config.redacted_url());
    print_line!(
        "it holds: {} conversations with {} turns and their journals, the configuration, {} API keys as hashes, {} sealed secrets",
        held.conversations,
        held.turns,
        held.keys,
        held.sealed_secrets
    );
    if held.plain_secrets > 0 {
        print_line!("WARNING: {} secrets in it are not sealed", held.plain_secrets);
    }
    print_line!("it does not hold: settings, and the key of the secrets, which is in {key}; keep a copy of that key elsewhere");
    connection.close().await.map_err(database)
}
