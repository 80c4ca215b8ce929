//! The context of a step: configuration, session and effect context.

use std::borrow::Cow;

use convengine_config::Config;
use convengine_turn::{AuditPayload, EffectContext, NoticeBody};

use crate::audit::{Stage, is_recorded};
use crate::session::Session;

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
    pub fn audit<P: Into<AuditPayload>>(&self, stage: Stage, payload: impl FnOnce(&Session) -> P) {
        if let Some(stage) = self.recorded_stage(stage) {
            self.publish(stage, payload(&self.session).into());
        }
    }

    fn publish(&self, stage: Cow<'static, str>, payload: AuditPayload) {
        self.effects.record_audit_metadata(|| self.session.audit_metadata());
        self.effects.publish(NoticeBody::Audit { stage, payload });
    }

    fn recorded_stage(&self, stage: Stage) -> Option<Cow<'static, str>> {
        let stage = stage.to_text();
        is_recorded(&self.config.settings.audit, &stage, &self.session.intent).then_some(stage)
    }
}
