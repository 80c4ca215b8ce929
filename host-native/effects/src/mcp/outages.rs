//! Logs when a server is lost and when it answers again, each once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convengine_settings::secrets::Secrets;

/// The servers that are lost.
#[derive(Debug)]
pub struct Outages {
    secrets: Arc<Secrets>,
    /// By key.
    lost: Mutex<BTreeSet<String>>,
}

impl Outages {
    /// Creates a record of no lost server. Reasons are logged without the secrets.
    pub fn new(secrets: Arc<Secrets>) -> Outages {
        Outages { secrets, lost: Mutex::default() }
    }

    /// Records that a server is lost; logs it unless it was before.
    pub fn begin(&self, server: &str, reason: &str) {
        if self.lost().insert(server.to_owned()) {
            let reason = self.secrets.scrub(reason);
            tracing::warn!(server, %reason, "MCP server is lost; calls of its tools fail until it answers again");
        }
    }

    /// Records that a server answers; logs it if it was lost.
    pub fn end(&self, server: &str) {
        if self.lost().remove(server) {
            tracing::info!(server, "MCP server answers again");
        }
    }

    fn lost(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_lost_until_it_answers() {
        let outages = Outages::new(Arc::default());
        outages.end("crm");
        for _ in 0..2 {
            outages.begin("crm", "it ended");
            assert_eq!(outages.lost().iter().collect::<Vec<_>>(), ["crm"]);
        }
        outages.begin("shop", "it ended");
        outages.end("crm");
        assert_eq!(outages.lost().iter().collect::<Vec<_>>(), ["shop"]);
    }
}
