//! Sends spans to a collector, by OTLP over HTTP. Whoever has a span hands it over and goes on: what there is no room for is dropped.

use std::time::Duration;

use metrics::counter;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::names;
use crate::exit::Failure;
use crate::tls;

/// Spans that may wait.
const QUEUE: usize = 4096;

/// Spans that are sent together.
const BATCH: usize = 512;

/// How long a first span waits for others.
const LINGER: Duration = Duration::from_millis(200);

/// How long the collector may take for a batch, with all attempts.
const PATIENCE: Duration = Duration::from_secs(10);

/// The entrance for spans; nothing happens behind that of a server without a collector.
#[derive(Debug, Clone, Default)]
pub struct Traces(Option<mpsc::Sender<SpanData>>);

impl Traces {
    /// Starts the task that sends spans to the collector at an address; it ends after the last entrance is dropped and what waits is sent.
    ///
    /// # Errors
    /// Why the address cannot be called.
    pub fn start(collector: Option<&str>) -> Result<(Traces, Option<JoinHandle<()>>), Failure> {
        let Some(collector) = collector else { return Ok((Traces::default(), None)) };
        let exporter = exporter(collector)?;
        let (spans, waiting) = mpsc::channel(QUEUE);
        Ok((Traces(Some(spans)), Some(tokio::spawn(run(exporter, waiting)))))
    }

    /// Whether anybody gets spans.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Hands a span over; never waits.
    pub fn send(&self, span: SpanData) {
        if let Some(spans) = &self.0
            && spans.try_send(span).is_err()
        {
            counter!(names::SPANS_DROPPED, "reason" => "full").increment(1);
        }
    }
}

fn exporter(collector: &str) -> Result<SpanExporter, Failure> {
    let unusable =
        |reason: String| Failure::service(format!("traces cannot be sent: {reason}: correct convengine.telemetry.otlp.endpoint"));
    let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
    let client = tls::client_for(&address).no_proxy().timeout(PATIENCE).build().map_err(|it| unusable(crate::fulfil::http::reason(&it)))?;
    let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).with_http_client(client);
    let mut exporter = builder.with_endpoint(address).with_timeout(PATIENCE).build().map_err(|it| unusable(it.to_string()))?;
    let name = std::env::var("OTEL_SERVICE_NAME").ok().filter(|it| !it.trim().is_empty()).unwrap_or_else(|| "convengine".to_owned());
    exporter.set_resource(&Resource::builder().with_service_name(name).build());
    Ok(exporter)
}

async fn run(exporter: SpanExporter, mut waiting: mpsc::Receiver<SpanData>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut reached = true;
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        if batch.len() < BATCH && !waiting.is_closed() {
            sleep(LINGER).await;
            while batch.len() < BATCH
                && let Ok(span) = waiting.try_recv()
            {
                batch.push(span);
            }
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let sent = timeout(PATIENCE, exporter.export(std::mem::take(&mut batch))).await;
        let error = match sent {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        match &error {
            None => counter!(names::SPANS_EXPORTED).increment(count),
            Some(_) => counter!(names::SPANS_DROPPED, "reason" => "failed").increment(count),
        }
        // A line for each batch would bury the log.
        if let Some(error) = error.as_ref().filter(|_| reached) {
            tracing::warn!(error, "the collector does not take spans: they are dropped until it does");
        }
        reached = error.is_none();
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use opentelemetry::trace::{SpanId, SpanKind};

    use super::*;
    use crate::observe::spans::{Named, span};

    #[test]
    fn what_there_is_no_room_for_is_dropped_and_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let (spans, mut waiting) = mpsc::channel(2);
        let traces = Traces(Some(spans));
        let one = || {
            let named = Named { name: "turn".to_owned(), kind: SpanKind::Server, attributes: Vec::new() };
            span("t", SpanId::INVALID, named, SystemTime::now(), None)
        };
        metrics::with_local_recorder(&recorder, || (0..5).for_each(|_| traces.send(one())));
        let told = recorder.handle().render();
        assert!(told.contains("convengine_trace_spans_dropped_total{reason=\"full\"} 3"), "{told}");
        drop(traces);
        assert_eq!(std::iter::from_fn(|| waiting.try_recv().ok()).count(), 2);
        assert!(!Traces::default().is_on());
    }
}
