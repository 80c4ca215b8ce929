//! Which credentials the server asks for at the moment.

use axum::http::Uri;
use convengine_settings::AuthMode;
use convengine_storage::Pool;

use super::cors::AllowedOrigins;
use super::openness::Openness;
use super::refusal;
use crate::api_error::ApiError;

/// How callers authenticate.
#[derive(Debug)]
pub enum AccessMode {
    /// As `convengine.security.mode` says.
    Explicit(AuthMode),
    /// The setting is absent: open to this machine, until there is a reason to close.
    Default {
        /// The credentials that a closed server accepts.
        when_closed: AuthMode,
        /// Whether it is closed.
        openness: Openness,
    },
}

/// How callers authenticate now.
#[derive(Debug, Clone, Copy)]
pub struct CurrentAccess<'d> {
    /// The accepted credentials.
    pub mode: AuthMode,
    /// Whether the server answers this machine only.
    pub is_local_only: bool,
    /// Whether `convengine.security.mode` is absent.
    pub is_default: bool,
    /// The origins that may call.
    pub origins: &'d AllowedOrigins,
}

/// The origins of a server that has closed and whose settings list none.
static NO_ORIGINS: AllowedOrigins = AllowedOrigins::List(Vec::new());

impl AccessMode {
    /// Whether tokens are credentials here, once the server asks for any.
    pub fn accepts_tokens(&self) -> bool {
        match self {
            AccessMode::Explicit(mode) => mode.jwt,
            AccessMode::Default { when_closed, .. } => when_closed.jwt,
        }
    }

    /// How callers authenticate now, with the origins of the settings. `list_tenants` is called when they have to be asked; `report_failure` gets
    /// the name of each whose database did not answer, if another one did.
    ///
    /// # Errors
    /// Any database error of the lookup whether a tenant has keys or deployments, if no tenant answered.
    pub async fn current<'d, 'p, N>(
        &self,
        origins: &'d AllowedOrigins,
        list_tenants: impl FnOnce() -> Vec<(N, &'p Pool)>,
        report_failure: impl Fn(N),
    ) -> sqlx::Result<CurrentAccess<'d>> {
        let (mode, is_local_only, is_default) = match self {
            AccessMode::Explicit(mode) => (*mode, false, false),
            AccessMode::Default { when_closed, openness } => match openness.is_closed(list_tenants, report_failure).await? {
                true => (*when_closed, false, true),
                false => (AuthMode::default(), true, true),
            },
        };
        let origins = match origins {
            AllowedOrigins::Local if !mode.is_none() => &NO_ORIGINS,
            origins => origins,
        };
        Ok(CurrentAccess { mode, is_local_only, is_default, origins })
    }
}

impl CurrentAccess<'_> {
    /// Builds the 401 response for missing credentials.
    pub fn missing_credentials(self, uri: &Uri) -> ApiError {
        if self.is_default { refusal::missing_key(uri) } else { refusal::unauthorized(uri, None) }
    }
}
