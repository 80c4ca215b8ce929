//! The limit on nodes entered in one turn (docs/spec/flows.md#12.1).

use serde_json::json;

use super::Walker;

/// Number of nodes listed in the trace.
const MAX_TRACED_NODES: usize = 16;

impl Walker<'_> {
    /// Aborts the turn; variables are kept.
    pub(super) fn abort_at_step_limit(&mut self) {
        let from = self.record.steps.len().saturating_sub(MAX_TRACED_NODES);
        let last: Vec<String> = self.record.steps.iter().skip(from).map(|it| format!("{}/{}", it.graph, it.id)).collect();
        self.warn("guard.step_limit", json!({"steps": self.record.steps.len(), "last": last}));
        self.abort_at_limit("step_limit");
    }
}
