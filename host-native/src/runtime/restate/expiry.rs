//! Deletes conversations without rows when they have been idle for their retention period: no sweep of the database finds them.

use std::time::Duration;

use convengine_core::turn::{LoadedSession, Millis};
use restate_sdk::prelude::*;

use super::conversation::ConversationClient;

/// Has the object look after a time whether it is idle; returns the invocation, or none when this one is cancelled.
pub async fn arm(ctx: &ObjectContext<'_>, tenant: Option<String>, after: Duration) -> Option<String> {
    let sent = ctx.object_client::<ConversationClient>(ctx.key()).expire(Json(tenant)).send_after(after).await;
    sent.ok().map(|it| it.invocation_id().to_owned())
}

/// Returns how long a conversation is kept from now on if it stays idle.
pub fn find_remaining(session: &LoadedSession, retention: Duration, now: Millis) -> Duration {
    let updated_at = session.conversation.as_ref().map_or(0, |it| it.updated_at);
    let idle = Duration::from_millis(u64::try_from(now - updated_at).unwrap_or(0));
    retention.saturating_sub(idle)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use convengine_core::turn::ConversationRow;

    use super::*;

    #[test]
    fn a_conversation_is_kept_for_its_period_after_its_newest_turn() {
        let day = Duration::from_hours(24);
        let session = |updated_at| LoadedSession {
            conversation: Some(ConversationRow {
                conversation_id: "c".to_owned(),
                status: "RUNNING".to_owned(),
                intent_code: "UNKNOWN".to_owned(),
                state_code: "UNKNOWN".to_owned(),
                context: Arc::default(),
                last_user_text: None,
                last_assistant: None,
                params: Arc::default(),
                created_at: 0,
                updated_at,
            }),
            ..LoadedSession::default()
        };
        let remaining = |now| find_remaining(&session(1_000), day, now);
        assert_eq!(remaining(1_000), day);
        assert_eq!(remaining(3_601_000), Duration::from_hours(23));
        assert_eq!(remaining(90_000_000), Duration::ZERO);
        assert_eq!(remaining(0), day, "its clock was ahead");
    }
}
