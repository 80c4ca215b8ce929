//! Conversations with all servers of a mix at once, every answer compared with the undisturbed run.

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
use super::talk::{Exchange, seen};
use super::{Mix, TURN, watch};

/// How often memory is read.
const SAMPLES: usize = 40;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// So long after the beginning; conversations that have begun are finished.
    Time(Duration),
    /// When so many conversations have ended.
    Conversations(usize),
}

/// What a load saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Conversations that ended.
    pub conversations: usize,
    /// How long each turn took, in microseconds, the quickest first.
    pub micros: Vec<u64>,
    /// How long the load took.
    pub seconds: f64,
    /// Answers that were others than those of the undisturbed run, the first few in words.
    pub failures: usize,
    /// The words.
    pub failed: Vec<String>,
    /// Processor time of all servers, in microseconds.
    pub cpu_us: u64,
    /// Bytes that all databases grew by.
    pub bytes: u64,
    /// Resident memory of each server in KB, as it was after so many conversations.
    pub memory: Vec<(usize, Vec<u64>)>,
}

/// What all connections share.
struct Shared {
    mix: Rc<Mix>,
    begun: Cell<usize>,
    until: Until,
    started: Instant,
    step: usize,
    seen: RefCell<Seen>,
}

/// Holds conversations, so many at a time.
///
/// # Errors
/// When a server cannot be reached.
pub fn hold(mix: &Rc<Mix>, connections: usize, until: Until) -> Result<Seen> {
    let bytes = |mix: &Mix| mix.served.iter().map(|it| it.database.bytes()).sum::<Result<u64>>();
    let cpu = |mix: &Mix| mix.served.iter().map(|it| watch::cpu_us(it.process_id())).sum::<Result<u64>>();
    let (bytes_before, cpu_before) = (bytes(mix)?, cpu(mix)?);
    let step = match until {
        Until::Conversations(count) => (count / SAMPLES).max(1),
        Until::Time(_) => usize::MAX,
    };
    let shared = Rc::new(Shared {
        mix: Rc::clone(mix),
        begun: Cell::new(0),
        until,
        started: Instant::now(),
        step,
        seen: RefCell::new(Seen::default()),
    });
    shared.remember(0)?;
    // One thread: the servers are what is measured, and they need the other processors.
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let talks: Vec<_> = (0..connections).map(|_| spawn_local(talk(Rc::clone(&shared)))).collect();
        for talk in talks {
            talk.await??;
        }
        anyhow::Ok(())
    }))?;
    let mut seen = shared.seen.take();
    seen.seconds = shared.started.elapsed().as_secs_f64();
    seen.cpu_us = cpu(mix)? - cpu_before;
    seen.bytes = bytes(mix)?.saturating_sub(bytes_before);
    seen.micros.sort_unstable();
    shared.seen.replace(Seen { conversations: seen.conversations, memory: std::mem::take(&mut seen.memory), ..Seen::default() });
    shared.remember(seen.conversations)?;
    seen.memory = shared.seen.take().memory;
    ensure!(!seen.micros.is_empty(), "no turn was answered");
    Ok(seen)
}

async fn talk(shared: Rc<Shared>) -> Result<()> {
    let mut clients: Vec<Client> = shared.mix.served.iter().map(|it| Client::new(it.address())).collect();
    while let Some(number) = shared.next() {
        let (pack, talk) = shared.mix.conversation(number);
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let asked = Instant::now();
            let (status, answer) = clients[pack].say(exchange.body(&conversation), &[(TURN, &turn.to_string())]).await?;
            let micros = u64::try_from(asked.elapsed().as_micros())?;
            let mut seen = shared.seen.borrow_mut();
            seen.micros.push(micros);
            if let Some(words) = other(exchange, status, &answer) {
                seen.failures += 1;
                if seen.failed.len() < 5 {
                    seen.failed.push(format!("{} turn {turn}: {words}", shared.mix.served[pack].name));
                }
            }
        }
        let ended = {
            let mut seen = shared.seen.borrow_mut();
            seen.conversations += 1;
            seen.conversations
        };
        if ended.is_multiple_of(shared.step) {
            shared.remember(ended)?;
        }
    }
    Ok(())
}

/// In which way an answer differs from that of the undisturbed run.
#[must_use]
pub fn other(exchange: &Exchange, status: StatusCode, answer: &[u8]) -> Option<String> {
    if status != StatusCode::OK {
        return Some(format!("status {status}: {}", String::from_utf8_lossy(answer)));
    }
    let found = seen(&serde_json::from_slice::<Value>(answer).unwrap_or_default());
    (found != exchange.answer).then(|| format!("expected {}, got {found}", exchange.answer))
}

impl Shared {
    /// The number of a further conversation, if one is begun.
    fn next(&self) -> Option<usize> {
        let number = self.begun.replace(self.begun.get() + 1);
        let goes_on = match self.until {
            Until::Time(limit) => self.started.elapsed() < limit,
            Until::Conversations(count) => number < count,
        };
        goes_on.then_some(number)
    }

    fn remember(&self, conversations: usize) -> Result<()> {
        let memory = self.mix.served.iter().map(|it| watch::resident_kb(it.process_id())).collect::<Result<Vec<u64>>>()?;
        self.seen.borrow_mut().memory.push((conversations, memory));
        Ok(())
    }
}

impl Seen {
    /// The time within which so many percent of the turns were answered, in milliseconds.
    #[must_use]
    pub fn percentile_ms(&self, part: usize) -> f64 {
        self.micros.get(self.micros.len() * part / 100).map_or(0.0, |it| *it as f64 / 1000.0)
    }

    /// Turns in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.micros.len() as f64 / self.seconds
    }

    /// A sum over all turns, as it is for one.
    #[must_use]
    pub fn a_turn(&self, sum: u64) -> u64 {
        sum / (self.micros.len() as u64).max(1)
    }

    /// The memory of the largest server at the start, in the middle and at the end, in MB.
    #[must_use]
    pub fn memory_mb(&self) -> [f64; 3] {
        let largest = |at: usize| self.memory.get(at).and_then(|it| it.1.iter().max()).map_or(0.0, |it| *it as f64 / 1024.0);
        [largest(0), largest(self.memory.len() / 2), largest(self.memory.len().saturating_sub(1))]
    }

    /// By how much all servers together grow over the second half of the conversations, in MB.
    #[must_use]
    pub fn growth_mb(&self) -> f64 {
        let half = self.conversations / 2;
        let points = self.memory.iter().filter(|it| it.0 >= half);
        let points: Vec<(f64, f64)> = points.map(|it| (it.0 as f64, it.1.iter().sum::<u64>() as f64 / 1024.0)).collect();
        watch::growth(&points)
    }
}
