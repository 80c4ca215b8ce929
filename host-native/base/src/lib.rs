//! What every part of the native host uses: time, classes of work, metrics, failures and the output of commands.

pub mod blocking_share;
pub mod clock;
pub mod crypto;
pub mod event_members;
pub mod exit;
pub mod hex;
pub mod meter;
pub mod metric_names;
pub mod output;
pub mod pack_file;
pub mod processor_share;
pub mod redact_url;
pub mod shell;
pub mod tenant_span;
pub mod tls;
pub mod trace_ids;
pub mod uuid_text;
pub mod work_class;
