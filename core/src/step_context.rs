//! The context of a step: configuration, session and effect context.

use serde_json::Value;

use crate::audit::{Stage, is_recorded};
use crate::config::Config;
use crate::session::Session;
use crate::turn::{EffectContext, NoticeBody};

/// A turn in progress. It never leaves the turn's future.
pub struct StepContext<'c> {
    /// The configuration snapshot that the turn runs on.
    pub config: &'c Config,
    /// The conversation's state.
    pub session: Session,
    /// Access to effects and notices.
    pub effects: EffectContext,
}

impl StepContext<'_> {
    /// Publishes an audit event; the payload is built only when the event is recorded.
    pub fn audit(&self, stage: Stage, payload: impl FnOnce(&Session) -> Value) {
        if let Some(stage) = self.recorded_stage(stage) {
            self.publish(stage, payload(&self.session));
        }
    }

    fn publish(&self, stage: String, payload: Value) {
        self.effects.record_audit_metadata(|| self.session.audit_metadata());
        self.effects.publish(NoticeBody::Audit { stage, payload });
    }

    fn recorded_stage(&self, stage: Stage) -> Option<String> {
        let stage = stage.to_text();
        is_recorded(&self.config.settings.audit, &stage, &self.session.intent).then_some(stage)
    }
}
