//! Operations: telemetry, audit records, replay, snapshots, retention and privacy. Nothing here takes part in a turn's decisions.

pub mod backup;
#[cfg(feature = "restate")]
pub mod cluster;
pub mod feedback;
pub mod forget;
pub mod journal_export;
pub mod knowledge;
pub mod observe;
pub mod replay;
pub mod retention;
pub mod secret;
pub mod snapshot;
pub mod usage;
