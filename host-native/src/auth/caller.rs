//! The identity of a caller as request handlers see it.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The authenticated caller of a request, or an anonymous one.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    id: Option<Arc<str>>,
    name: Option<Arc<str>>,
}

impl Caller {
    /// Creates a caller with an id that is unique within the tenant.
    pub fn new(id: &str) -> Caller {
        Caller { id: Some(id.into()), name: None }
    }

    /// Adds the display name of the caller's key or token.
    #[must_use]
    pub fn with_name(self, name: &str) -> Caller {
        Caller { name: Some(name.into()), ..self }
    }

    /// The display name; absent for the administrator and if authentication is off.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The id; absent if authentication is off.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Prefixes an idempotency key with a digest of the caller's id, so that other callers cannot use it.
    pub fn scope_key(&self, key: String) -> String {
        let Some(id) = self.id() else { return key };
        let digest = Sha256::digest(id.as_bytes());
        let short: String = digest.iter().take(8).map(|it| format!("{it:02x}")).collect();
        format!("{short}:{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idempotency_keys_differ_by_caller() {
        let key = || "k".to_owned();
        let (one, two) = (Caller::new("key:1"), Caller::new("key:2"));
        assert_eq!(Caller::default().scope_key(key()), "k");
        assert_eq!(one.scope_key(key()), one.scope_key(key()));
        assert_ne!(one.scope_key(key()), two.scope_key(key()));
        assert_eq!(one.scope_key(key()).len(), 18);
    }
}
