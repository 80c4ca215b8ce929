//! The rows and settings that a configuration was compiled from. With the feature `speed` they are kept as text: no turn reads them, and as
//! values they are the most of a configuration. The browser's engine keeps the value, for its size.

#[cfg(feature = "speed")]
mod text;
#[cfg(not(feature = "speed"))]
mod value;

#[cfg(feature = "speed")]
pub(super) use text::ConfigSource;
#[cfg(not(feature = "speed"))]
pub(super) use value::ConfigSource;
