//! Values that a conversation collects.

use crate::turning::Turning;

/// Whether values of the current intent are still being collected.
pub fn collecting(_t: &Turning<'_>) -> bool {
    false
}

/// Whether an intent collects values.
pub fn drives(_t: &Turning<'_>, _intent: &str) -> bool {
    false
}
