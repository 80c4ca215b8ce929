//! A database outage under load: every message is retried until it is acknowledged, and every acknowledged turn must be stored once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use hyper::StatusCode;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use uuid::Uuid;

use super::Mix;
use super::client::Client;
use super::load::find_difference;
use super::stored_turns::AcknowledgedTurns;

/// How long new conversations are started after the database is back.
const TIME_AFTER_RESTORE: Duration = Duration::from_secs(10);

/// The results of an outage.
#[derive(Debug, Clone, Default)]
pub struct OutageReport {
    /// The number of acknowledged turns.
    pub acknowledged: usize,
    /// The number of messages that were sent more than once.
    pub repeated: usize,
    /// The longest time without an acknowledgement.
    pub longest_silence: Duration,
    /// The time between the return of the database and the next acknowledgement.
    pub recovery_time: Option<Duration>,
    /// Acknowledged answers that differ from the undisturbed run, and turns that are not stored exactly once.
    pub failures: Vec<String>,
}

/// Signals from the process that stops and starts the database.
#[derive(Debug, Default)]
pub struct Signals {
    /// Whether the database is running again.
    pub restored: AtomicBool,
}

struct Shared {
    mix: Rc<Mix>,
    started_count: Cell<usize>,
    signals: Arc<Signals>,
    restored_at: Cell<Option<Instant>>,
    /// The time of the last acknowledgement.
    last_acknowledged_at: Cell<Instant>,
    on_steady: RefCell<Option<Box<dyn FnOnce()>>>,
    acknowledged: AcknowledgedTurns,
    report: RefCell<OutageReport>,
}

/// Runs conversations until some time after the database is back; `steady` is called once the load is steady.
///
/// # Errors
/// If a message is never acknowledged, or the databases cannot be read afterwards.
pub fn run_outage(mix: &Rc<Mix>, connections: usize, signals: &Arc<Signals>, steady: impl FnOnce() + 'static) -> Result<OutageReport> {
    let shared = Rc::new(Shared {
        mix: Rc::clone(mix),
        started_count: Cell::new(0),
        signals: Arc::clone(signals),
        restored_at: Cell::new(None),
        last_acknowledged_at: Cell::new(Instant::now()),
        on_steady: RefCell::new(Some(Box::new(steady))),
        acknowledged: AcknowledgedTurns::default(),
        report: RefCell::default(),
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let talks: Vec<_> = (0..connections).map(|_| spawn_local(run_connection(Rc::clone(&shared)))).collect();
        for talk in talks {
            talk.await??;
        }
        anyhow::Ok(())
    }))?;
    let mut outcome = shared.report.take();
    for (index, served) in mix.servers.iter().enumerate() {
        outcome.failures.extend(shared.acknowledged.find_lost(index, &served.name, &served.database)?);
    }
    Ok(outcome)
}

async fn run_connection(shared: Rc<Shared>) -> Result<()> {
    let mut clients: Vec<Client> = shared.mix.servers.iter().map(|server| Client::new(server.address())).collect();
    while shared.should_continue() {
        let (pack, talk) = shared.mix.conversation(shared.started_count.replace(shared.started_count.get() + 1));
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let record = |attempt, _: &mut Client| {
                shared.check_restored();
                if attempt == 1 {
                    shared.report.borrow_mut().repeated += 1;
                }
            };
            let answer = clients[pack].send_until_acknowledged(&exchange.body(&conversation), record).await?;
            shared.record_acknowledgement(pack, &conversation);
            if let Some(difference) = find_difference(exchange, StatusCode::OK, &answer) {
                shared
                    .report
                    .borrow_mut()
                    .failures
                    .push(format!("{} {conversation} turn {turn}: {difference}", shared.mix.servers[pack].name));
            }
        }
    }
    Ok(())
}

impl Shared {
    fn should_continue(&self) -> bool {
        self.restored_at.get().is_none_or(|instant| instant.elapsed() < TIME_AFTER_RESTORE)
    }

    fn check_restored(&self) {
        if self.restored_at.get().is_none() && self.signals.restored.load(Ordering::Acquire) {
            self.restored_at.set(Some(Instant::now()));
        }
    }

    fn record_acknowledgement(&self, pack: usize, conversation: &str) {
        self.acknowledged.add(pack, conversation);
        let mut outcome = self.report.borrow_mut();
        outcome.acknowledged += 1;
        outcome.longest_silence = outcome.longest_silence.max(self.last_acknowledged_at.replace(Instant::now()).elapsed());
        self.check_restored();
        if let Some(restored) = self.restored_at.get() {
            outcome.recovery_time.get_or_insert_with(|| restored.elapsed());
        }
        if outcome.acknowledged == 200
            && let Some(steady) = self.on_steady.borrow_mut().take()
        {
            steady();
        }
    }
}
