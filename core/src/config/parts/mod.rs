//! Compiles a configuration part by part. With the feature `speed`, a part whose rows are those of an earlier configuration is shared with
//! it, and a pattern of such a part is not compiled again when other rows change. The browser's engine compiles everything, for its size.

#[cfg(not(feature = "speed"))]
mod plain;
#[cfg(feature = "speed")]
mod shared;
#[cfg(test)]
#[cfg(feature = "speed")]
mod tests;

#[cfg(not(feature = "speed"))]
pub(super) use plain::{PartCache, Parts, Patterns, Reuse};
#[cfg(feature = "speed")]
pub use shared::Reuse;
#[cfg(feature = "speed")]
pub(super) use shared::{PartCache, Parts, Patterns};

/// A part of a configuration.
#[cfg(feature = "speed")]
pub type Part<T> = std::sync::Arc<T>;

/// A part of a configuration.
#[cfg(not(feature = "speed"))]
pub type Part<T> = T;
