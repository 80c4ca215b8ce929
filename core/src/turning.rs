//! The context of a step: configuration, session and effect context.

use serde_json::Value;

use crate::audit::{Stage, keeps};
use crate::config::Config;
use crate::session::Session;
use crate::turn::{Door, NoticeBody};

/// A turn in progress. It never leaves the turn's future.
pub struct Turning<'c> {
    /// The configuration snapshot that the turn runs on.
    pub config: &'c Config,
    /// The conversation's state.
    pub session: Session,
    /// Access to effects and notices.
    pub door: Door,
}

impl Turning<'_> {
    /// Publishes an audit event; the payload is built only when the event is recorded.
    pub fn audit(&self, stage: Stage, payload: impl FnOnce(&Session) -> Value) {
        if let Some(stage) = self.kept(stage) {
            self.publish(stage, payload(&self.session));
        }
    }

    fn publish(&self, stage: String, payload: Value) {
        self.door.meta(|| self.session.meta());
        self.door.notice(NoticeBody::Audit { stage, payload });
    }

    fn kept(&self, stage: Stage) -> Option<String> {
        let stage = stage.text();
        keeps(&self.config.settings.audit, &stage, &self.session.intent).then_some(stage)
    }
}
