//! The load: concurrent conversations with all servers of a mix. Every answer is compared with the undisturbed run.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hyper::StatusCode;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use uuid::Uuid;

use super::client::Client;
use super::talk::{Exchange, visible_part};
use super::{Mix, TURN_HEADER, process_stats};

/// The number of memory samples.
const MEMORY_SAMPLES: usize = 40;

/// When to stop the load.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After this time; conversations in progress are finished.
    Time(Duration),
    /// After this number of conversations.
    Conversations(usize),
}

/// The measurements of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// The number of finished conversations.
    pub conversations: usize,
    /// The latency of each turn in microseconds, sorted.
    pub micros: Vec<u64>,
    /// The duration of the load.
    pub seconds: f64,
    /// The number of answers that differ from the undisturbed run.
    pub failures: usize,
    /// Descriptions of the first few failures.
    pub failure_examples: Vec<String>,
    /// The processor time of all servers, in microseconds.
    pub cpu_us: u64,
    /// The growth of all databases, in bytes.
    pub bytes: u64,
    /// Samples: a number of finished conversations, and the resident memory of each server in KB at that time.
    pub memory: Vec<(usize, Vec<u64>)>,
}

/// State shared by all connections.
struct Shared {
    mix: Rc<Mix>,
    started_count: Cell<usize>,
    until: Until,
    started: Instant,
    sample_interval: usize,
    report: RefCell<LoadReport>,
}

/// Runs conversations on `connections` connections at a time.
///
/// # Errors
/// If a server cannot be reached, or no turn was answered.
pub fn run_load(mix: &Rc<Mix>, connections: usize, until: Until) -> Result<LoadReport> {
    let bytes = |mix: &Mix| mix.servers.iter().map(|server| server.database.bytes()).sum::<Result<u64>>();
    let cpu = |mix: &Mix| mix.servers.iter().map(|server| process_stats::cpu_us(server.process_id())).sum::<Result<u64>>();
    let (bytes_before, cpu_before) = (bytes(mix)?, cpu(mix)?);
    let step = match until {
        Until::Conversations(count) => (count / MEMORY_SAMPLES).max(1),
        Until::Time(_) => usize::MAX,
    };
    let shared = Rc::new(Shared {
        mix: Rc::clone(mix),
        started_count: Cell::new(0),
        until,
        started: Instant::now(),
        sample_interval: step,
        report: RefCell::new(LoadReport::default()),
    });
    shared.sample_memory(0)?;
    // A single thread leaves the other processors to the servers, which are what is measured.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let talks: Vec<_> = (0..connections).map(|_| spawn_local(run_connection(Rc::clone(&shared)))).collect();
        for talk in talks {
            talk.await??;
        }
        anyhow::Ok(())
    }))?;
    let mut seen = shared.report.take();
    seen.seconds = shared.started.elapsed().as_secs_f64();
    seen.cpu_us = cpu(mix)? - cpu_before;
    seen.bytes = bytes(mix)?.saturating_sub(bytes_before);
    seen.micros.sort_unstable();
    shared.report.replace(LoadReport {
        conversations: seen.conversations,
        memory: std::mem::take(&mut seen.memory),
        ..LoadReport::default()
    });
    shared.sample_memory(seen.conversations)?;
    seen.memory = shared.report.take().memory;
    ensure!(!seen.micros.is_empty(), "no turn was answered");
    Ok(seen)
}

async fn run_connection(shared: Rc<Shared>) -> Result<()> {
    let mut clients: Vec<Client> = shared.mix.servers.iter().map(|server| Client::new(server.address())).collect();
    while let Some(number) = shared.next_conversation() {
        let (pack, talk) = shared.mix.conversation(number);
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let sent = Instant::now();
            let (status, answer) = clients[pack].send_message(exchange.body(&conversation), &[(TURN_HEADER, &turn.to_string())]).await?;
            let micros = u64::try_from(sent.elapsed().as_micros())?;
            let mut seen = shared.report.borrow_mut();
            seen.micros.push(micros);
            if let Some(difference) = find_difference(exchange, status, &answer) {
                seen.failures += 1;
                if seen.failure_examples.len() < 5 {
                    seen.failure_examples.push(format!("{} turn {turn}: {difference}", shared.mix.servers[pack].name));
                }
            }
        }
        let ended = {
            let mut seen = shared.report.borrow_mut();
            seen.conversations += 1;
            seen.conversations
        };
        if ended.is_multiple_of(shared.sample_interval) {
            shared.sample_memory(ended)?;
        }
    }
    Ok(())
}

/// Describes how an answer differs from that of the undisturbed run; `None` if it does not.
#[must_use]
pub fn find_difference(exchange: &Exchange, status: StatusCode, answer: &[u8]) -> Option<String> {
    if status != StatusCode::OK {
        return Some(format!("status {status}: {}", String::from_utf8_lossy(answer)));
    }
    let found = visible_part(&serde_json::from_slice::<Value>(answer).unwrap_or_default());
    (found != exchange.answer).then(|| format!("expected {}, got {found}", exchange.answer))
}

impl Shared {
    /// Returns the number of the next conversation to start, if any.
    fn next_conversation(&self) -> Option<usize> {
        let number = self.started_count.replace(self.started_count.get() + 1);
        let continues = match self.until {
            Until::Time(limit) => self.started.elapsed() < limit,
            Until::Conversations(count) => number < count,
        };
        continues.then_some(number)
    }

    fn sample_memory(&self, conversations: usize) -> Result<()> {
        let memory = self.mix.servers.iter().map(|server| process_stats::resident_kb(server.process_id())).collect::<Result<Vec<u64>>>()?;
        self.report.borrow_mut().memory.push((conversations, memory));
        Ok(())
    }
}

impl LoadReport {
    /// Returns a percentile of the latency, in milliseconds.
    #[must_use]
    pub fn percentile_ms(&self, part: usize) -> f64 {
        self.micros.get(self.micros.len() * part / 100).map_or(0.0, |it| *it as f64 / 1000.0)
    }

    /// Returns the turns per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.seconds
    }

    /// Divides a sum over all turns by the number of turns.
    #[must_use]
    pub fn per_turn(&self, sum: u64) -> u64 {
        sum / (self.micros.len() as u64).max(1)
    }

    /// Returns the memory of the largest server at the start, in the middle and at the end, in MB.
    #[must_use]
    pub fn memory_mb(&self) -> [f64; 3] {
        let largest = |at: usize| self.memory.get(at).and_then(|sample| sample.1.iter().max()).map_or(0.0, |kb| *kb as f64 / 1024.0);
        [largest(0), largest(self.memory.len() / 2), largest(self.memory.len().saturating_sub(1))]
    }

    /// Returns the memory growth of all servers together over the second half of the conversations, in MB.
    #[must_use]
    pub fn growth_mb(&self) -> f64 {
        let half = self.conversations / 2;
        let points = self.memory.iter().filter(|it| it.0 >= half);
        let points: Vec<(f64, f64)> = points.map(|sample| (sample.0 as f64, sample.1.iter().sum::<u64>() as f64 / 1024.0)).collect();
        process_stats::growth(&points)
    }
}
