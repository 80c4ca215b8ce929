//! The limit on nodes entered in one turn (docs/spec/flows.md#12.1).

use serde_json::json;

use super::Walk;

/// Number of nodes listed in the trace.
const LAST: usize = 16;

impl Walk<'_> {
    /// Aborts the turn; variables are kept.
    pub(super) fn step_limit(&mut self) {
        let from = self.steps.len().saturating_sub(LAST);
        let last: Vec<String> = self.steps.iter().skip(from).map(|it| format!("{}/{}", it.graph, it.id)).collect();
        self.warn("guard.step_limit", json!({"steps": self.steps.len(), "last": last}));
        self.gives_up("step_limit");
    }
}
