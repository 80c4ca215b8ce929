//! The messages of failed effects.

use convengine_core::turn::EffectError;

/// Maximum characters of the message of an error.
const MAX_ERROR_CHARS: usize = 2000;

/// Cuts the message of an error, in which a service may say what it likes. It is cut after it was redacted, because a rule might miss what is
/// cut in the middle.
pub fn cut_message(mut error: EffectError) -> EffectError {
    if let Some((end, _)) = error.message.char_indices().nth(MAX_ERROR_CHARS) {
        error.message.truncate(end);
    }
    error
}
