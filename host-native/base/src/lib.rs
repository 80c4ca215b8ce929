//! What every part of the native host uses: time, classes of work, metrics, failures and the output of commands.

pub mod clock;
pub mod crypto;
pub mod exit;
pub mod meter;
pub mod metric_names;
pub mod output;
pub mod redact_url;
pub mod work_class;
