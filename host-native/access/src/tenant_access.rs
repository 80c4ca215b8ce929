//! What a tenant knows of its callers: a part of a host.

use convengine_settings::Settings;
use convengine_storage::Pool;

use crate::credential_watch::OpenCredentials;
use crate::known_credentials::{KnownCredentials, LookupLimit};
use crate::rate::RateLimits;

/// The credentials and limits of the callers of a tenant.
#[derive(Debug)]
pub struct TenantAccess {
    /// The credentials that callers may have.
    pub credentials: KnownCredentials,
    /// The credentials of open streams, sockets and waiting calls.
    pub open_credentials: OpenCredentials,
    /// Rate limits.
    pub rate_limits: RateLimits,
    /// How often secrets are read again for webhooks that none of them has signed.
    pub webhook_lookups: LookupLimit,
}

impl TenantAccess {
    /// Reads the credentials of a tenant.
    ///
    /// # Errors
    /// Any database error.
    pub async fn read(settings: &Settings, readers: &Pool) -> sqlx::Result<TenantAccess> {
        Ok(TenantAccess {
            credentials: KnownCredentials::read(readers).await?,
            open_credentials: OpenCredentials::default(),
            rate_limits: RateLimits::new(settings.security.rates).with_assistants(&settings.assistants),
            webhook_lookups: LookupLimit::default(),
        })
    }
}
