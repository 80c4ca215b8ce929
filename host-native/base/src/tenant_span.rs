//! The tenant in log lines.

/// Creates the log span of what is done for a tenant; without one, lines stay as they are.
pub fn tenant_span(name: Option<&str>) -> tracing::Span {
    name.map_or_else(tracing::Span::none, |name| tracing::error_span!("tenant", name))
}
