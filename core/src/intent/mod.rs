//! Finds the intent of a message: by its wording, by likeness to examples, or by a model.

mod agent;
mod classifier;
mod collision;
mod reply;

pub use agent::ask;
pub use classifier::classify;

/// The state in which two intents fit equally well.
pub const INTENT_COLLISION: &str = "INTENT_COLLISION";
