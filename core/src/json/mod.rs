//! JSON beyond the library: canonical form and hashes, differences, paths.

pub mod canon;
pub mod diff;
pub mod path;
pub mod schema;
