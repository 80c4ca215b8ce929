//! Plays a pack's conversation with servers and prints throughput and latency as JSON.
//!
//! `test-tools load ADDRESS[,ADDRESS…] PACK CONNECTIONS` spreads its connections over the servers. It reads commands from its input, one a line, and
//! prints a line after each:
//!
//! - `seconds:S` plays whole conversations for S seconds.
//! - `conversations:N` plays N conversations in total.
//! - `turns:N` plays N more turns of one long conversation per connection, which repeats the pack's messages.
//!
//! Turns of a flow follow one that starts a session; it is not repeated in a long conversation. Each answer must be a success.

use std::cell::Cell;
use std::io::BufRead;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use convengine_core::pack::{Pack, PackRequest};
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use uuid::Uuid;

/// The placeholder for the id of a flow session in paths.
const SESSION_PLACEHOLDER: &str = "${SESSION}";

/// What to play before the next line is printed.
#[derive(Clone)]
enum Amount {
    Until(Instant),
    /// The number of conversations still to start, shared by all connections.
    Conversations(Rc<Cell<usize>>),
    /// The number of further turns of each connection's conversation.
    Turns(usize),
}

#[derive(Default)]
struct Measurements {
    conversations: usize,
    micros: Vec<u64>,
}

/// A connection with its conversation.
struct Client {
    address: String,
    sender: SendRequest<Full<Bytes>>,
    requests: Rc<[PackRequest]>,
    /// The id of the conversation: of the session once a flow has started one.
    conversation: String,
    /// The number of turns of the conversation so far.
    turns: usize,
}

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    // A single thread leaves the other processors to the server, which is what is measured.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(LocalSet::new().run_until(play_commands(words)))
}

async fn play_commands(words: &[&str]) -> Result<()> {
    let [addresses, pack, connections] = words else { bail!("usage: test-tools load ADDRESS[,ADDRESS…] PACK CONNECTIONS") };
    let pack = Pack::parse(&std::fs::read_to_string(Path::new(pack))?)?;
    let requests: Rc<[PackRequest]> = pack.turns.into_iter().filter_map(|it| it.request).collect();
    ensure!(!requests.is_empty(), "the pack has no turns");
    let connections: usize = connections.parse()?;
    let servers = addresses.split(',').cycle().take(connections);
    let mut clients = try_join_all(servers.map(|it| Client::connect(it, &requests))).await?;
    // Reading blocks: nothing else happens between two commands.
    for line in std::io::stdin().lock().lines() {
        let amount = Amount::parse(&line?)?;
        let started = Instant::now();
        let mut seen = Measurements::default();
        for one in try_join_all(clients.iter_mut().map(|client| client.play(amount.clone()))).await? {
            seen.conversations += one.conversations;
            seen.micros.extend(one.micros);
        }
        println!("{}", seen.summarize(started.elapsed()));
    }
    Ok(())
}

impl Client {
    async fn connect(address: &str, requests: &Rc<[PackRequest]>) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(connection);
        let conversation = Uuid::new_v4().to_string();
        Ok(Client { address: address.to_owned(), sender, requests: Rc::clone(requests), conversation, turns: 0 })
    }

    async fn play(&mut self, amount: Amount) -> Result<Measurements> {
        let mut seen = Measurements::default();
        if let Amount::Turns(turns) = amount {
            for _ in 0..turns {
                self.play_turn(&mut seen).await?;
            }
            return Ok(seen);
        }
        while amount.should_continue() {
            seen.conversations += 1;
            (self.conversation, self.turns) = (Uuid::new_v4().to_string(), 0);
            for _ in 0..self.requests.len() {
                self.play_turn(&mut seen).await?;
            }
        }
        Ok(seen)
    }

    async fn play_turn(&mut self, seen: &mut Measurements) -> Result<()> {
        let request = self.next_request().context("the pack has only a turn that starts a session")?;
        let path = request.path.replace(SESSION_PLACEHOLDER, &self.conversation);
        let mut body = request.body.clone();
        if let Some(conversation) = body.get_mut("conversationId") {
            *conversation = self.conversation.clone().into();
        }
        let sent = Instant::now();
        let answer = self.send(&path, body.to_string()).await?;
        seen.micros.push(u64::try_from(sent.elapsed().as_micros())?);
        if self.turns == 0 && self.is_flow() {
            let answer: Value = serde_json::from_slice(&answer)?;
            self.conversation = answer.get("session_id").and_then(Value::as_str).context("no session id in the answer")?.to_owned();
        }
        self.turns += 1;
        Ok(())
    }

    /// Returns the next request. In a long conversation the messages repeat, but not the start of a session.
    fn next_request(&self) -> Option<PackRequest> {
        let first = usize::from(self.is_flow() && self.turns >= self.requests.len());
        let repeated = self.requests.get(first..)?;
        repeated.get((self.turns - first) % repeated.len().max(1)).cloned()
    }

    /// Returns whether the first turn starts a session, to which the others belong.
    fn is_flow(&self) -> bool {
        self.requests.iter().any(|it| it.path.contains(SESSION_PLACEHOLDER))
    }

    async fn send(&mut self, path: &str, body: String) -> Result<Bytes> {
        let request = Request::post(path)
            .header(header::HOST, &self.address)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let text = std::str::from_utf8(&body)?;
        let is_answer = ["\"success\":true", "\"status\":\"awaiting_input\""].iter().any(|it| text.contains(it));
        ensure!(status.is_success() && is_answer, "the server answered {status}: {text}");
        Ok(body)
    }
}

impl Amount {
    fn parse(text: &str) -> Result<Amount> {
        let (unit, number) = text.trim().split_once(':').context("expected seconds:S, conversations:N or turns:N")?;
        let number: usize = number.parse()?;
        match unit {
            "seconds" => Ok(Amount::Until(Instant::now() + Duration::from_secs(u64::try_from(number)?))),
            "conversations" => Ok(Amount::Conversations(Rc::new(Cell::new(number)))),
            "turns" => Ok(Amount::Turns(number)),
            _ => bail!("expected seconds:S, conversations:N or turns:N, not '{text}'"),
        }
    }

    /// Returns whether to start another conversation.
    fn should_continue(&self) -> bool {
        match self {
            Amount::Until(end) => Instant::now() < *end,
            Amount::Conversations(left) => left.replace(left.get().saturating_sub(1)) > 0,
            Amount::Turns(_) => false,
        }
    }
}

impl Measurements {
    fn summarize(mut self, elapsed: Duration) -> Value {
        self.micros.sort_unstable();
        let percentile = |part: usize| self.micros.get(self.micros.len() * part / 100).copied().unwrap_or_default();
        json!({
            "turns": self.micros.len(), "conversations": self.conversations, "seconds": elapsed.as_secs_f64(), "p50_us": percentile(50),
            "p99_us": percentile(99),
        })
    }
}
