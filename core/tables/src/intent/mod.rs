//! Intent resolution: by pattern, by similarity to examples, or by a model.

mod classifier;
mod collision;
mod reply;
mod resolver;

pub use classifier::{Classification, classify};
pub use resolver::resolve_with_model;

/// The state in which two intents collide.
pub const INTENT_COLLISION: &str = "INTENT_COLLISION";
