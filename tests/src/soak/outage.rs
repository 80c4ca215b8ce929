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
use super::load::other;

/// How long a message is retried before the run fails.
const PATIENCE: Duration = Duration::from_secs(180);

/// The delay between retries.
const PAUSE: Duration = Duration::from_millis(50);

/// How long new conversations are started after the database is back.
const AFTER: Duration = Duration::from_secs(10);

/// The results of an outage.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The number of acknowledged turns.
    pub acknowledged: usize,
    /// The number of messages that were sent more than once.
    pub repeated: usize,
    /// The longest time without an acknowledgement.
    pub silence: Duration,
    /// The time between the return of the database and the next acknowledgement.
    pub service_returned: Option<Duration>,
    /// Acknowledged answers that differ from the undisturbed run, and turns that are not stored exactly once.
    pub failed: Vec<String>,
}

/// Signals from the process that stops and starts the database.
#[derive(Debug, Default)]
pub struct Signals {
    /// Whether the database is running again.
    pub restored: AtomicBool,
}

struct Shared {
    mix: Rc<Mix>,
    begun: Cell<usize>,
    signals: Arc<Signals>,
    restored_at: Cell<Option<Instant>>,
    /// The time of the last acknowledgement.
    last: Cell<Instant>,
    steady: RefCell<Option<Box<dyn FnOnce()>>>,
    /// The number of acknowledged turns, by index of the server and conversation.
    stored: RefCell<BTreeMap<(usize, String), usize>>,
    outcome: RefCell<Outcome>,
}

/// Runs conversations until some time after the database is back; `steady` is called once the load is steady.
///
/// # Errors
/// If a message is never acknowledged, or the databases cannot be read afterwards.
pub fn hold(mix: &Rc<Mix>, connections: usize, signals: &Arc<Signals>, steady: impl FnOnce() + 'static) -> Result<Outcome> {
    let shared = Rc::new(Shared {
        mix: Rc::clone(mix),
        begun: Cell::new(0),
        signals: Arc::clone(signals),
        restored_at: Cell::new(None),
        last: Cell::new(Instant::now()),
        steady: RefCell::new(Some(Box::new(steady))),
        stored: RefCell::default(),
        outcome: RefCell::default(),
    });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(async {
        let talks: Vec<_> = (0..connections).map(|_| spawn_local(talk(Rc::clone(&shared)))).collect();
        for talk in talks {
            talk.await??;
        }
        anyhow::Ok(())
    }))?;
    let mut outcome = shared.outcome.take();
    outcome.failed.extend(lost(mix, &shared.stored.borrow())?);
    Ok(outcome)
}

async fn talk(shared: Rc<Shared>) -> Result<()> {
    let mut clients: Vec<Client> = shared.mix.served.iter().map(|it| Client::new(it.address())).collect();
    while shared.goes_on() {
        let (pack, talk) = shared.mix.conversation(shared.begun.replace(shared.begun.get() + 1));
        let conversation = Uuid::new_v4().to_string();
        for (turn, exchange) in talk.turns.iter().enumerate() {
            let (status, answer) = until_acknowledged(&shared, &mut clients[pack], &exchange.body(&conversation)).await?;
            shared.acknowledged(pack, &conversation);
            if let Some(difference) = other(exchange, status, &answer) {
                shared
                    .outcome
                    .borrow_mut()
                    .failed
                    .push(format!("{} {conversation} turn {turn}: {difference}", shared.mix.served[pack].name));
            }
        }
    }
    Ok(())
}

/// Retries a message with one idempotency key until the server acknowledges it with 200.
async fn until_acknowledged(shared: &Shared, client: &mut Client, body: &str) -> Result<(StatusCode, hyper::body::Bytes)> {
    let (key, begun) = (Uuid::new_v4().to_string(), Instant::now());
    let mut last = String::new();
    for attempt in 0_u32.. {
        shared.see_whether_restored();
        if attempt == 1 {
            shared.outcome.borrow_mut().repeated += 1;
        }
        match client.say(body.to_owned(), &[("Idempotency-Key", &key)]).await {
            Ok((StatusCode::OK, answer)) => return Ok((StatusCode::OK, answer)),
            Ok((status, answer)) => last = format!("status {status}: {}", String::from_utf8_lossy(&answer)),
            Err(error) => last = format!("{error:#}"),
        }
        if begun.elapsed() > PATIENCE {
            break;
        }
        sleep(PAUSE).await;
    }
    bail!("a message was not acknowledged within {} s, last result: {last}", PATIENCE.as_secs())
}

/// Returns the conversations whose acknowledged turns are not stored exactly once.
fn lost(mix: &Mix, stored: &BTreeMap<(usize, String), usize>) -> Result<Vec<String>> {
    let mut failed = Vec::new();
    for (index, served) in mix.served.iter().enumerate() {
        let sql = "select cast(conversation_id as text), cast(count(*) as text), cast(max(number) as text) from ce_turn group by 1";
        let mut found: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for row in served.database.rows(sql)? {
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
    fn goes_on(&self) -> bool {
        self.restored_at.get().is_none_or(|it| it.elapsed() < AFTER)
    }

    fn see_whether_restored(&self) {
        if self.restored_at.get().is_none() && self.signals.restored.load(Ordering::Acquire) {
            self.restored_at.set(Some(Instant::now()));
        }
    }

    fn acknowledged(&self, pack: usize, conversation: &str) {
        *self.stored.borrow_mut().entry((pack, conversation.to_owned())).or_default() += 1;
        let mut outcome = self.outcome.borrow_mut();
        outcome.acknowledged += 1;
        outcome.silence = outcome.silence.max(self.last.replace(Instant::now()).elapsed());
        self.see_whether_restored();
        if let Some(restored) = self.restored_at.get() {
            outcome.service_returned.get_or_insert_with(|| restored.elapsed());
        }
        if outcome.acknowledged == 200
            && let Some(steady) = self.steady.borrow_mut().take()
        {
            steady();
        }
    }
}
