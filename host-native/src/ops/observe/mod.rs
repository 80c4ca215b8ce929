//! Observability of a server: metrics, traces and logs. None of them contains user text, and none can fail a turn.

mod export;
pub mod ids;
pub mod log;
pub mod meter;
pub mod names;
mod scrape;
mod spans;
mod tenant;
mod turn;

pub use export::SpanSender;
pub use meter::Meter;
pub use scrape::{TenantMetrics, render_all_metrics, render_metrics, start_recording};
pub use spans::effect_span;
pub use tenant::tenant_span;
pub use turn::{TurnObserver, caller_span, refusal_reason};
