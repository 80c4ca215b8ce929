//! Sets a missing creation time, so that later steps can rely on it.
//! Reads: the row. Writes: its creation time. Waits for: nothing.

use super::Flow;
use crate::turning::Turning;

pub(super) fn run(cx: &mut Turning<'_>) -> Flow {
    if cx.session.stored.created_at <= 0 {
        cx.session.stored.created_at = cx.door.now();
    }
    Flow::Continue
}
