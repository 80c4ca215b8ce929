//! The core as hosts see it, in tests that need no host.

mod additions;
mod protocol;
mod retrieval;
mod scaled;
