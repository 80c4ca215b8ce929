//! Observability of a server: metrics, traces and logs. None of them contains user text, and none can fail a turn.

pub mod log;
mod scrape;

pub use scrape::{TenantMetrics, render_all_metrics, render_metrics, start_recording};
