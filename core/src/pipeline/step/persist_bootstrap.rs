//! Gives a row that came without a creation time one, so that everything later may rely on it.
//! Reads: the row. Writes: its creation time. Waits for: nothing.

use super::Flow;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    if t.session.stored.created_at <= 0 {
        t.session.stored.created_at = t.door.now();
    }
    Flow::Continue
}
