//! Exports spans to a collector by OTLP over HTTP. Sending never blocks: spans that do not fit into the queue are dropped.

use std::time::Duration;

use metrics::counter;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use convengine_host_base::exit::Failure;
use convengine_host_base::metric_names as names;
use convengine_host_base::tls;

/// Maximum number of queued spans.
const QUEUE_CAPACITY: usize = 4096;

/// Maximum number of spans per export.
const MAX_BATCH: usize = 512;

/// How long an export waits for more spans.
const BATCH_DELAY: Duration = Duration::from_millis(200);

/// Timeout of an export including retries.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The sending side of the span queue. Discards spans if no collector is configured.
#[derive(Debug, Clone, Default)]
pub struct SpanSender(Option<mpsc::Sender<SpanData>>);

impl SpanSender {
    /// Starts the task that exports spans to a collector. It ends once all senders are dropped and the queue is sent.
    ///
    /// # Errors
    /// A service failure if the address is unusable.
    pub fn start(collector: Option<&str>) -> Result<(SpanSender, Option<JoinHandle<()>>), Failure> {
        let Some(collector) = collector else { return Ok((SpanSender::default(), None)) };
        let exporter = build_exporter(collector)?;
        let (spans, queue) = mpsc::channel(QUEUE_CAPACITY);
        Ok((SpanSender(Some(spans)), Some(tokio::spawn(export_batches(exporter, queue)))))
    }

    /// Whether a collector is configured.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Queues a span without blocking.
    pub fn send(&self, span: SpanData) {
        if let Some(spans) = &self.0
            && spans.try_send(span).is_err()
        {
            counter!(names::SPANS_DROPPED, "reason" => "full").increment(1);
        }
    }
}

fn build_exporter(collector: &str) -> Result<SpanExporter, Failure> {
    let unusable = |reason: String| {
        Failure::service_unavailable(format!("cannot export traces: {reason}; correct convengine.telemetry.otlp.endpoint"))
    };
    let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
    let client = tls::client_for(&address)
        .no_proxy()
        .timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| unusable(convengine_effects::http::error_reason(&error)))?;
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).with_http_client(client);
    let mut exporter = builder.with_endpoint(address).with_timeout(EXPORT_TIMEOUT).build().map_err(|error| unusable(error.to_string()))?;
    let name = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "convengine".to_owned());
    exporter.set_resource(&Resource::builder().with_service_name(name).build());
    Ok(exporter)
}

async fn export_batches(exporter: SpanExporter, mut queue: mpsc::Receiver<SpanData>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut reachable = true;
    while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
        if batch.len() < MAX_BATCH && !queue.is_closed() {
            sleep(BATCH_DELAY).await;
            while batch.len() < MAX_BATCH
                && let Ok(span) = queue.try_recv()
            {
                batch.push(span);
            }
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let exported = timeout(EXPORT_TIMEOUT, exporter.export(std::mem::take(&mut batch))).await;
        let error = match exported {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no response within {} s", EXPORT_TIMEOUT.as_secs())),
        };
        match &error {
            None => counter!(names::SPANS_EXPORTED).increment(count),
            Some(_) => counter!(names::SPANS_DROPPED, "reason" => "failed").increment(count),
        }
        // Logs only the first failure in a row.
        if let Some(error) = error.as_ref().filter(|_| reachable) {
            tracing::warn!(error, "the collector rejects spans; dropping them until it accepts them again");
        }
        reachable = error.is_none();
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use opentelemetry::trace::{SpanId, SpanKind};

    use super::*;
    use crate::observe::spans::{SpanDescription, build_span};

    #[test]
    fn spans_beyond_the_queue_are_dropped_and_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let (spans, mut queue) = mpsc::channel(2);
        let traces = SpanSender(Some(spans));
        let one = || {
            let named = SpanDescription { name: "turn".to_owned(), kind: SpanKind::Server, attributes: Vec::new() };
            build_span("t", SpanId::INVALID, named, SystemTime::now(), None)
        };
        metrics::with_local_recorder(&recorder, || (0..5).for_each(|_| traces.send(one())));
        let metrics_text = recorder.handle().render();
        assert!(metrics_text.contains("convengine_trace_spans_dropped_total{reason=\"full\"} 3"), "{metrics_text}");
        drop(traces);
        assert_eq!(std::iter::from_fn(|| queue.try_recv().ok()).count(), 2);
        assert!(!SpanSender::default().is_on());
    }
}
