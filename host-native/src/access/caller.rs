//! Who calls.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Who calls, as a tenant's handlers get to know it.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    id: Option<Arc<str>>,
}

impl Caller {
    /// A caller with a name that nobody else of the tenant has.
    pub fn named(id: &str) -> Caller {
        Caller { id: Some(id.into()) }
    }

    /// The name; without one, nobody was asked.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The name under which a message is kept that the caller has given one: what others know of it is of no use to them.
    pub fn own(&self, key: String) -> String {
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
    fn a_message_has_another_name_for_each_caller() {
        let key = || "k".to_owned();
        let (one, two) = (Caller::named("key:1"), Caller::named("key:2"));
        assert_eq!(Caller::default().own(key()), "k");
        assert_eq!(one.own(key()), one.own(key()));
        assert_ne!(one.own(key()), two.own(key()));
        assert_eq!(one.own(key()).len(), 18);
    }
}
