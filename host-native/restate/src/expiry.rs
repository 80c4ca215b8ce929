//! Deletes conversations without rows when they have been idle for their retention period: no sweep of the database finds them.

use std::time::Duration;

use convengine_core::turn::{LoadedSession, Millis};
use restate_sdk::prelude::*;

use super::conversation::ConversationClient;
use super::timers::{ArmedTimer, delay_until};

/// Has the object look at a time whether it is idle; returns none when this invocation is cancelled.
pub async fn arm(ctx: &ObjectContext<'_>, tenant: Option<String>, due: Millis) -> Option<ArmedTimer> {
    let sent = ctx.object_client::<ConversationClient>(ctx.key()).expire(Json(tenant)).send_after(delay_until(due)).await;
    sent.ok().map(|call| ArmedTimer::new(due, call.invocation_id()))
}

/// Returns until when a conversation is kept if it stays idle.
pub fn find_due(session: &LoadedSession, retention: Duration) -> Millis {
    let updated_at = session.conversation.as_ref().map_or(0, |it| it.updated_at);
    updated_at.saturating_add(Millis::try_from(retention.as_millis()).unwrap_or(Millis::MAX))
}
