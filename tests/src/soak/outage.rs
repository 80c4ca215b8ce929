//! A database outage under load: every message is retried until it is acknowledged, and every acknowledged turn must be stored once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hyper::StatusCode;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;
use uuid::Uuid;

use super::Mix;
use super::client::Client;
use super::load::find_difference;

/// How long a message is retried before the run fails.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(180);

/// The delay between retries.
const RETRY_DELAY: Duration = Duration::from_millis(50);

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
    /// The number of acknowledged turns, by index of the server and conversation.
    stored: RefCell<BTreeMap<(usize, String), usize>>,
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
        stored: RefCell::default(),
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
    outcome.failures.extend(find_lost_turns(mix, &shared.stored.borrow())?);
    Ok(outcome)
}

async fn run_connection(shared: Rc<Shared>) -> Result<()> {
    let mut clients: Vec<Client> = shared.mix.servers.iter().map(|it| Client::new(it.address())).collect();
    while shared.should_continue() {
        let (pack, talk) = shared.mix.conversation(shared.started_count.replace(shared.started_count.get() + 1));
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let (status, answer) = send_until_acknowledged(&shared, &mut clients[pack], &exchange.body(&conversation)).await?;
            shared.record_acknowledgement(pack, &conversation);
            if let Some(difference) = find_difference(exchange, status, &answer) {
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

/// Retries a message with one idempotency key until the server acknowledges it with 200.
async fn send_until_acknowledged(shared: &Shared, client: &mut Client, body: &str) -> Result<(StatusCode, hyper::body::Bytes)> {
    let (key, begun) = (Uuid::new_v4().to_string(), Instant::now());
    let mut last = String::new();
    for attempt in 0_u32.. {
        shared.check_restored();
        if attempt == 1 {
            shared.report.borrow_mut().repeated += 1;
        }
        match client.send_message(body.to_owned(), &[("Idempotency-Key", &key)]).await {
            Ok((StatusCode::OK, answer)) => return Ok((StatusCode::OK, answer)),
            Ok((status, answer)) => last = format!("status {status}: {}", String::from_utf8_lossy(&answer)),
            Err(error) => last = format!("{error:#}"),
        }
        if begun.elapsed() > MESSAGE_TIMEOUT {
            break;
        }
        sleep(RETRY_DELAY).await;
    }
    bail!("a message was not acknowledged within {} s, last result: {last}", MESSAGE_TIMEOUT.as_secs())
}

/// Returns the conversations whose acknowledged turns are not stored exactly once.
fn find_lost_turns(mix: &Mix, stored: &BTreeMap<(usize, String), usize>) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    for (index, served) in mix.servers.iter().enumerate() {
        let sql = "select cast(conversation_id as text), cast(count(*) as text), cast(max(number) as text) from ce_turn group by 1";
        let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for row in served.database.query(sql)? {
            let [id, count, last] = row.as_slice() else { bail!("unexpected columns") };
            found.insert(id.clone(), (count.parse().context("invalid count")?, last.parse().context("invalid number")?));
        }
        for ((_, id), turns) in stored.iter().filter(|it| it.0.0 == index) {
            let in_database = found.remove(id).unwrap_or_default();
            if in_database != (*turns, *turns) {
                failed.push(format!(
                    "{} {id}: {turns} turns acknowledged, {} stored, the highest number is {}",
                    served.name, in_database.0, in_database.1
                ));
            }
        }
        failed.extend(found.keys().map(|id| format!("{} {id}: unknown conversation", served.name)));
    }
    Ok(failed)
}

impl Shared {
    fn should_continue(&self) -> bool {
        self.restored_at.get().is_none_or(|it| it.elapsed() < TIME_AFTER_RESTORE)
    }

    fn check_restored(&self) {
        if self.restored_at.get().is_none() && self.signals.restored.load(Ordering::Acquire) {
            self.restored_at.set(Some(Instant::now()));
        }
    }

    fn record_acknowledgement(&self, pack: usize, conversation: &str) {
        *self.stored.borrow_mut().entry((pack, conversation.to_owned())).or_default() += 1;
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
