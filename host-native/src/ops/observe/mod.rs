//! Observability of a server: metrics, traces and logs. None of them contains user text, and none can fail a turn.

pub mod log;
mod scrape;

pub use convengine_host_base::meter::{self, Meter};
pub use convengine_host_base::metric_names as names;
pub use convengine_host_base::tenant_span::tenant_span;
pub use convengine_turns::observe::SpanSender;
pub use scrape::{TenantMetrics, render_all_metrics, render_metrics, start_recording};
