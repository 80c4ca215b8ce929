//! Placeholder.
//! Reads: nothing. Writes: nothing. Waits for: nothing.

use super::Flow;
use crate::fault::Fault;
use crate::turning::Turning;

#[expect(clippy::unused_async, reason = "to be filled")]
pub(super) async fn run(_t: &mut Turning<'_>) -> Result<Flow, Fault> {
    Ok(Flow::Continue)
}
