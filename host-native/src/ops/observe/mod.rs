//! Observability of a server: metrics, traces and logs. None of them contains user text, and none can fail a turn.

mod export;
pub mod log;
mod scrape;
mod spans;
mod turn;

pub use convengine_host_base::meter::{self, Meter};
pub use convengine_host_base::metric_names as names;
pub use convengine_host_base::tenant_span::tenant_span;
pub use export::SpanSender;
pub use scrape::{TenantMetrics, render_all_metrics, render_metrics, start_recording};
pub use spans::effect_span;
pub use turn::{TurnObserver, caller_span, refusal_reason};
