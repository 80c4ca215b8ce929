//! Configuration: the snapshot that turns run on, and how rows and documents come in and go out. Compiling is the core's.

pub mod active;
pub mod classifiers;
pub mod compile;
pub mod export;
pub mod import;
pub mod json_schema;
pub mod lint;
pub mod nlu;
pub mod snapshot;
pub mod stored_snapshot;
pub mod watch;
