//! Where the server listens, and what follows from it: who needs credentials, which pages may call, and by which names.

use std::net::SocketAddr;
use std::path::Path;

use convengine_host_base::exit::Failure;
use convengine_settings::{AuthMode, Settings};
use convengine_storage::{self as storage, DatabaseConfig};
use tokio::net::TcpListener;

use super::access_mode::AccessMode;
use super::cors::AllowedOrigins;
use super::host_names::OwnHosts;
use super::openness::Openness;

/// How a server is exposed.
#[derive(Debug)]
pub struct Exposure {
    /// How callers authenticate.
    pub access: AccessMode,
    /// The origins whose pages may call.
    pub origins: AllowedOrigins,
    /// The hosts that requests may name.
    pub hosts: OwnHosts,
}

/// Listens on the address of the settings.
///
/// # Errors
/// Exit code 2 if the address is invalid, or reachable from other machines while nothing says who may call; 3 if it cannot be used.
pub async fn listen(settings: &Settings) -> Result<(TcpListener, Exposure), Failure> {
    let at = &settings.listen;
    let failed = |error: std::io::Error| {
        Failure::service_unavailable(format!("cannot listen on {at}: {error}; choose another address with --listen"))
    };
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(at)
        .await
        .map_err(|error| Failure::invalid_usage(format!("invalid address '{at}': {error}; use --listen HOST:PORT")))?
        .collect();
    let is_loopback = addresses.iter().all(|address| address.ip().is_loopback());
    let access = match settings.security.mode {
        Some(mode) => AccessMode::Explicit(mode),
        None => default_access(settings, is_loopback).await?,
    };
    let is_open = match &access {
        AccessMode::Explicit(mode) => mode.is_none(),
        AccessMode::Default { .. } => true,
    };
    let origins = match &settings.security.origins {
        Some(listed) => AllowedOrigins::List(listed.clone()),
        // Only while no credentials are required.
        None if is_loopback && is_open => AllowedOrigins::Local,
        None => AllowedOrigins::List(Vec::new()),
    };
    let listener = TcpListener::bind(addresses.as_slice()).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let hosts = OwnHosts::new(at, &addresses, bound, settings.http.allowed_hosts.clone());
    Ok((listener, Exposure { access, origins, hosts }))
}

/// Without `convengine.security.mode`: open to this machine until there is a key, a token or a deployment, and closed elsewhere.
async fn default_access(settings: &Settings, is_loopback: bool) -> Result<AccessMode, Failure> {
    let when_closed = AuthMode { keys: true, jwt: settings.security.jwt.is_some() };
    let has_token = settings.admin_token.is_some() || when_closed.jwt;
    if !is_loopback && !has_token && !has_credentials(settings).await? {
        let at = &settings.listen;
        let line = format!(
            "'{at}' is reachable from other machines without authentication; create a key with 'convengine key create', or set \
             --set convengine.security.mode=keys, or allow anonymous access with --set convengine.security.mode=none"
        );
        return Err(Failure::invalid_usage(line));
    }
    Ok(AccessMode::Default { when_closed, openness: Openness::new(has_token || !is_loopback) })
}

/// Whether a database of the server has keys or deployments. Does not create one. A database that cannot be read matters only if no other
/// one has any.
async fn has_credentials(settings: &Settings) -> Result<bool, Failure> {
    let mut unreadable = None;
    for settings in settings.each_tenant() {
        match holds_credentials(&settings.database).await {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(failure) => unreadable = Some(failure),
        }
    }
    unreadable.map_or(Ok(false), Err)
}

async fn holds_credentials(database: &DatabaseConfig) -> Result<bool, Failure> {
    if database.sqlite_file().is_some_and(|file| !Path::new(&file).exists()) {
        return Ok(false);
    }
    let mut connection = storage::connect(database, false).await?;
    let tables = storage::schema::list_tables(&mut connection).await.map_err(|it| storage::database_failure(database, &it))?;
    connection.close().await.map_err(|it| storage::database_failure(database, &it))?;
    if !["cv_api_key", "cs_deployment"].iter().all(|it| tables.contains(*it)) {
        return Ok(false);
    }
    let pool = storage::open_reader_pool(database).await?;
    let found = storage::api_key::has_credentials(&pool).await;
    pool.close().await;
    found.map_err(|it| storage::database_failure(database, &it))
}
