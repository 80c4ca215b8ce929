//! The conversations and runs: each message is sent again, under its key and to the next server, until it is acknowledged.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use convengine_host::app;
use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::RestateReport;
use super::tenant::{Tenant, Use};
use crate::soak::client::Client;
use crate::soak::load::find_difference;
use crate::soak::stored_turns::AcknowledgedTurns;

/// How long a message is sent again.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(180);

/// The delay before a message is sent again.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The pause of a user between two messages, which leaves time to those who start processes.
const PAUSE: Duration = Duration::from_millis(20);

/// What the conversations share.
pub(super) struct Load {
    /// The tenants, which take turns.
    pub tenants: Vec<Tenant>,
    /// The acknowledged turns.
    pub acknowledged: AcknowledgedTurns,
    /// Turns whose answer says that a call is in doubt: the tenant, the conversation and the number of the turn.
    pub doubts: RefCell<BTreeSet<(usize, String, u32)>>,
    /// The runs that were started: the tenant and the run.
    pub runs: RefCell<BTreeSet<(usize, String)>>,
    /// Set when no further conversation is to begin.
    pub stop: Arc<AtomicBool>,
    servers: Vec<String>,
    report: RefCell<RestateReport>,
}

impl Load {
    /// Creates the load of servers.
    pub fn new(tenants: Vec<Tenant>, servers: Vec<String>) -> Load {
        Load {
            tenants,
            acknowledged: AcknowledgedTurns::default(),
            doubts: RefCell::default(),
            runs: RefCell::default(),
            stop: Arc::default(),
            servers,
            report: RefCell::default(),
        }
    }

    /// What was seen so far.
    pub fn report(&self) -> RestateReport {
        self.report.borrow().clone()
    }

    /// Publishes the chains of the tenants.
    pub async fn publish_chains(self: &Rc<Self>) -> Result<()> {
        let mut sender = Sender { load: Rc::clone(self), server: 0, client: None };
        for tenant in &self.tenants {
            if let Use::Chain { slug } = tenant.use_as {
                sender.send(tenant.name, &format!("/v1/workflow-chains/{slug}/publish"), Some("{}".to_owned())).await?;
            }
        }
        Ok(())
    }

    /// Runs one conversation after the other until the load is stopped.
    pub async fn talk_until_stopped(self: Rc<Self>, number: usize) -> Result<()> {
        let tenant = number % self.tenants.len();
        let mut sender = Sender { load: Rc::clone(&self), server: number % self.servers.len(), client: None };
        while !self.stop.load(Ordering::Acquire) {
            match self.tenants[tenant].use_as {
                Use::Talk { doubt_text } => self.talk_once(tenant, doubt_text, &mut sender).await?,
                Use::Chain { slug } => self.run_once(tenant, slug, &mut sender).await?,
            }
        }
        Ok(())
    }

    /// Runs the conversation of a tenant to its end, or to the first call in doubt: what follows depends on the result.
    async fn talk_once(&self, index: usize, doubt_text: &str, sender: &mut Sender) -> Result<()> {
        let (tenant, conversation) = (&self.tenants[index], Uuid::new_v4().to_string());
        self.report.borrow_mut().conversations += 1;
        for (number, exchange) in (1_u32..).zip(&tenant.talk.turns) {
            let answer = sender.send(tenant.name, app::MESSAGE_PATH, Some(exchange.body(&conversation))).await?;
            self.acknowledged.add(index, &conversation);
            self.report.borrow_mut().acknowledged += 1;
            if let Some(difference) = find_difference(exchange, StatusCode::OK, &answer) {
                let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
                if answer["payload"]["value"].as_str().is_some_and(|it| it.contains(doubt_text)) {
                    self.doubts.borrow_mut().insert((index, conversation, number));
                } else {
                    self.report.borrow_mut().failures.push(format!("{} {conversation} turn {number}: {difference}", tenant.name));
                }
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Starts a run of a chain and waits for its end.
    async fn run_once(&self, index: usize, slug: &str, sender: &mut Sender) -> Result<()> {
        let tenant = &self.tenants[index];
        let number = self.runs.borrow().len();
        let path = format!("/v1/workflow-chains/{slug}");
        let started = sender.send(tenant.name, &format!("{path}/run"), Some(json!({"input": {"number": number}}).to_string())).await?;
        let started: Value = serde_json::from_slice(&started)?;
        let run = started["run_id"].as_str().with_context(|| format!("no run: {started}"))?;
        if !self.runs.borrow_mut().insert((index, run.to_owned())) {
            self.report.borrow_mut().failures.push(format!("{} {run}: two starts became one run", tenant.name));
        }
        self.report.borrow_mut().acknowledged += 1;
        let begun = Instant::now();
        loop {
            sleep(PAUSE).await;
            let found: Value = serde_json::from_slice(&sender.send(tenant.name, &format!("{path}/runs/{run}"), None).await?)?;
            let status = found["status"].as_str().unwrap_or_default();
            if status == "succeeded" {
                let mut report = self.report.borrow_mut();
                report.longest_run = report.longest_run.max(begun.elapsed());
                return Ok(());
            }
            if status == "failed" || begun.elapsed() > MESSAGE_TIMEOUT {
                self.report.borrow_mut().failures.push(format!("run {run} of {} did not succeed: {found}", tenant.name));
                return Ok(());
            }
        }
    }
}

/// A client that stays with a server until that one fails.
struct Sender {
    load: Rc<Load>,
    server: usize,
    client: Option<Client>,
}

impl Sender {
    /// Sends a request until it succeeds: a body is posted under one key, without one something is read.
    async fn send(&mut self, tenant: &str, path: &str, body: Option<String>) -> Result<Bytes> {
        let (key, begun) = (Uuid::new_v4().to_string(), Instant::now());
        let headers = [("X-Tenant", tenant), ("Idempotency-Key", key.as_str())];
        let mut last = String::new();
        for attempt in 0_u32.. {
            if begun.elapsed() > MESSAGE_TIMEOUT {
                break;
            }
            let address = &self.load.servers[self.server];
            let client = self.client.get_or_insert_with(|| Client::new(address));
            let answered = match &body {
                Some(body) => client.post(path, body.clone(), &headers).await,
                None => client.get_with(path, &headers[..1]).await,
            };
            match answered {
                Ok((status, answer)) if status.is_success() => {
                    let mut report = self.load.report.borrow_mut();
                    report.repeated += usize::from(attempt > 0 && body.is_some());
                    report.longest_wait = report.longest_wait.max(begun.elapsed());
                    return Ok(answer);
                }
                Ok((status, answer)) => last = format!("status {status}: {}", String::from_utf8_lossy(&answer)),
                Err(error) => last = format!("{error:#}"),
            }
            self.server = (self.server + 1) % self.load.servers.len();
            self.client = None;
            sleep(RETRY_DELAY).await;
        }
        bail!("{tenant} got no answer within {} s: {path} {body:?}, last result: {last}", MESSAGE_TIMEOUT.as_secs())
    }
}
