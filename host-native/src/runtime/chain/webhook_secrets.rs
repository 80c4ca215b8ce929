//! The names of the secrets with which webhooks of chains were signed, so that a wrong signature is refused without the database.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::auth::known_credentials::LookupLimit;

/// The names of the secrets of webhooks that were accepted, by chain and step.
#[derive(Debug, Default)]
pub struct WebhookSecrets {
    names: Mutex<BTreeMap<(String, String), String>>,
    lookups: LookupLimit,
}

impl WebhookSecrets {
    /// The name of the secret with which the last accepted webhook of a chain or of its step was signed.
    pub fn find(&self, chain: &str, step: &str) -> Option<String> {
        self.lock().get(&(chain.to_owned(), step.to_owned())).cloned()
    }

    /// Records the name of the secret with which an accepted webhook was signed.
    pub fn record(&self, chain: &str, step: &str, name: &str) {
        self.lock().insert((chain.to_owned(), step.to_owned()), name.to_owned());
    }

    /// Whether the secret of a webhook may be looked up that the last one does not fit. Only so many are, because they may be made up.
    pub fn allows_lookup(&self) -> bool {
        self.lookups.allows_another()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
