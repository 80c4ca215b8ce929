//! Renders `/metrics` in Prometheus text format: recorded metrics and those read on demand.

use std::fmt::Write;
use std::slice;
use std::sync::OnceLock;
use std::time::Duration;

use convengine_core::config::Issue;
use convengine_host_base::metric_names::{self as names, Kind, METRICS};
use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::task::JoinHandle;

use crate::ops::usage::Usage;

/// Histogram buckets in seconds: from a turn without effects to one that times out.
const DURATION_BUCKETS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];

/// Histogram buckets for parts of a transaction; the writer takes at most 32.
const COUNT_BUCKETS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// How often recorded samples are aggregated, so that they do not pile up between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Ticks per second in which Linux reports CPU time.
const TICKS_PER_SECOND: f64 = 100.0;

static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Installs the recorder of this process. The returned upkeep task must be aborted with the server.
pub fn start_recording() -> JoinHandle<()> {
    let handle = RECORDER.get_or_init(|| install_prometheus().ok()).clone();
    tokio::spawn(async move {
        let Some(handle) = handle else {
            tracing::warn!("cannot install the metrics recorder; /metrics reports the process only");
            return;
        };
        loop {
            tokio::time::sleep(UPKEEP_INTERVAL).await;
            handle.run_upkeep();
        }
    })
}

fn install_prometheus() -> Result<PrometheusHandle, metrics_exporter_prometheus::BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        let buckets: &[f64] = match metric.kind {
            Kind::Seconds => &DURATION_BUCKETS,
            Kind::Items => &COUNT_BUCKETS,
            Kind::Counter | Kind::Gauge => continue,
        };
        builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), buckets)?;
    }
    let handle = builder.install_recorder()?;
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help),
            Kind::Gauge => describe_gauge!(metric.name, metric.help),
            Kind::Seconds | Kind::Items => describe_histogram!(metric.name, metric.help),
        }
    }
    Ok(handle)
}

/// What `/metrics` reports about a tenant beside what was recorded.
#[derive(Debug)]
pub struct TenantMetrics<'d> {
    /// The tenant.
    pub tenant: Option<&'d str>,
    /// The configuration hash.
    pub hash: &'d str,
    /// The configuration issues.
    pub issues: &'d [Issue],
    /// What the tenant uses.
    pub usage: Usage,
}

/// Removes metrics of other tenants.
fn filter_tenant(text: &str, tenant: Option<&str>) -> String {
    let label = tenant.map(|it| format!("tenant=\"{it}\""));
    let fits = |it: &&str| it.starts_with('#') || !it.contains("{tenant=\"") || label.as_ref().is_some_and(|label| it.contains(label));
    text.lines().filter(fits).flat_map(|it| [it, "\n"]).collect()
}

/// Renders all metrics except those of other tenants.
pub fn render_metrics(of: &TenantMetrics<'_>) -> String {
    render(filter_tenant(&recorded(), of.tenant), slice::from_ref(of))
}

/// Renders the metrics of all tenants.
pub fn render_all_metrics(tenants: &[TenantMetrics<'_>]) -> String {
    render(recorded(), tenants)
}

fn recorded() -> String {
    RECORDER.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

/// Adds what is read on demand.
fn render(mut text: String, tenants: &[TenantMetrics<'_>]) -> String {
    for (name, values) in [
        (names::CONFIG_INFO, (|it| vec![(format!("hash=\"{}\"", it.hash), 1.0)]) as fn(&TenantMetrics<'_>) -> Vec<(String, f64)>),
        (names::CONFIG_ISSUES, count_issues),
        (names::DATABASE_BYTES, |it| bytes(it.usage.database_bytes)),
        (names::DATABASE_LIMIT_BYTES, |it| bytes(it.usage.database_limit_bytes)),
        (names::LIMIT_USED, |tenant| tenant.usage.limits.iter().map(|(limit, share)| (format!("limit=\"{limit}\""), *share)).collect()),
    ] {
        write_metric(
            &mut text,
            name,
            tenants.iter().flat_map(|tenant| values(tenant).into_iter().map(|(own, value)| (labels(tenant.tenant, &own), value))),
        );
    }
    for (name, value) in [(names::MEMORY, memory_bytes()), (names::CPU, cpu_seconds()), (names::FILES, open_files())] {
        write_metric(&mut text, name, value.map(|it| (String::new(), it)).into_iter());
    }
    text
}

fn count_issues(of: &TenantMetrics<'_>) -> Vec<(String, f64)> {
    let errors = of.issues.iter().filter(|it| it.is_error()).count();
    let counts = [("error", errors), ("warning", of.issues.len() - errors)];
    counts.into_iter().map(|(severity, count)| (format!("severity=\"{severity}\""), count as f64)).collect()
}

fn bytes(value: Option<u64>) -> Vec<(String, f64)> {
    value.map(|it| (String::new(), it as f64)).into_iter().collect()
}

/// The labels of a metric: that of the tenant, and its own.
fn labels(tenant: Option<&str>, own: &str) -> String {
    match (tenant, own) {
        (None, "") => String::new(),
        (None, own) => format!("{{{own}}}"),
        (Some(tenant), "") => format!("{{tenant=\"{tenant}\"}}"),
        (Some(tenant), own) => format!("{{tenant=\"{tenant}\",{own}}}"),
    }
}

fn write_metric(text: &mut String, name: &str, values: impl Iterator<Item = (String, f64)>) {
    let mut values = values.peekable();
    let (Some(metric), Some(_)) = (METRICS.iter().find(|it| it.name == name), values.peek()) else { return };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {}", metric.help, metric.kind.prometheus_type());
    for (labels, value) in values {
        let _ = writeln!(text, "{name}{labels} {value}");
    }
    text.push('\n');
}

/// Resident memory in bytes; absent without procfs.
fn memory_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|it| it * 1024.0)
}

/// User and system CPU time in seconds; absent without procfs.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The process name may contain anything, so fields are counted from its closing parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system) = (fields.next()?.parse::<f64>().ok()?, fields.next()?.parse::<f64>().ok()?);
    Some((user + system) / TICKS_PER_SECOND)
}

fn open_files() -> Option<f64> {
    std::fs::read_dir("/proc/self/fd").ok().map(|it| it.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_read_on_demand_are_rendered_with_their_help() {
        let issues = [Issue::error("a", "b", "c"), Issue::warning("a", "b", "c"), Issue::warning("a", "b", "c")];
        let usage = || Usage { database_bytes: Some(2048), database_limit_bytes: None, limits: vec![("sessions", 0.5)] };
        let single = TenantMetrics { tenant: None, hash: "abc", issues: &issues, usage: usage() };
        let acme = TenantMetrics { tenant: Some("acme"), hash: "def", issues: &[], usage: usage() };
        let (text, tenant_text) = (render_metrics(&single), render_metrics(&acme));
        for line in [
            "# TYPE convengine_config_info gauge",
            "convengine_config_info{hash=\"abc\"} 1",
            "convengine_config_issues{severity=\"error\"} 1",
            "convengine_config_issues{severity=\"warning\"} 2",
            "convengine_database_bytes 2048",
            "convengine_limit_used_ratio{limit=\"sessions\"} 0.5",
            "# TYPE convengine_process_cpu_seconds_total counter",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
        assert!(!text.contains("convengine_database_limit_bytes"), "nothing is said of what is unknown");
        for line in [
            "convengine_config_info{tenant=\"acme\",hash=\"def\"} 1",
            "convengine_config_issues{tenant=\"acme\",severity=\"error\"} 0",
            "convengine_database_bytes{tenant=\"acme\"} 2048",
        ] {
            assert!(tenant_text.lines().any(|it| it == line), "{line} in {tenant_text}");
        }
        let both = render_all_metrics(&[acme, TenantMetrics { tenant: Some("b"), ..single }]);
        assert_eq!(both.matches("# HELP convengine_database_bytes ").count(), 1);
        assert!(["acme", "b"].iter().all(|name| both.contains(&format!("convengine_database_bytes{{tenant=\"{name}\"}} 2048"))), "{both}");
        let all = "# HELP a\na{tenant=\"acme\"} 1\na{tenant=\"acme-two\",k=\"v\"} 2\nb{k=\"tenant\"} 3\n";
        assert_eq!(filter_tenant(all, Some("acme")), "# HELP a\na{tenant=\"acme\"} 1\nb{k=\"tenant\"} 3\n");
        assert_eq!(filter_tenant(all, None), "# HELP a\nb{k=\"tenant\"} 3\n");
        assert!(memory_bytes().is_none_or(|it| it > 1_000_000.0) && cpu_seconds().is_none_or(|it| it >= 0.0), "{text}");
    }
}
