//! Intent resolution: by pattern, by similarity to examples, or by a model.

mod agent;
mod classifier;
mod collision;
mod reply;

pub use agent::ask;
pub use classifier::classify;

/// The state in which two intents collide.
pub const INTENT_COLLISION: &str = "INTENT_COLLISION";
