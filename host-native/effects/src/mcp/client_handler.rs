//! What servers send without being asked: progress, and that their tools changed. Requests of servers are refused.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::mpsc::Sender;

/// Receives the notifications of a connection.
#[derive(Debug, Clone, Default)]
pub struct NotificationReceiver {
    /// Whether the server announced other tools since they were listed.
    pub tools_changed: Arc<AtomicBool>,
    progress: Arc<Mutex<BTreeMap<String, Sender<ProgressNotificationParam>>>>,
}

impl NotificationReceiver {
    /// Forwards the progress of a call until [`NotificationReceiver::unwatch`].
    pub fn watch(&self, token: &ProgressToken, sender: Sender<ProgressNotificationParam>) {
        self.lock().insert(format!("{:?}", token.0), sender);
    }

    /// Stops forwarding.
    pub fn unwatch(&self, token: &ProgressToken) {
        self.lock().remove(&format!("{:?}", token.0));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Sender<ProgressNotificationParam>>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for NotificationReceiver {
    fn get_info(&self) -> ClientConfig {
        // No capability: servers can ask neither for model calls nor for files nor for the user.
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("convengine", env!("CARGO_PKG_VERSION")))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        if let Some(sender) = self.lock().get(&format!("{:?}", params.progress_token.0)) {
            let _ = sender.try_send(params);
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed.store(true, Ordering::Relaxed);
    }
}
