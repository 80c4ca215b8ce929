//! Thousands of open streams during turns: each receives the events of its conversation completely and in order.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use convengine_host_base::clock;
use convengine_turns::stream::parse_events;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;

use super::client::Client;
use super::database::DatabaseKind;
use super::load::find_difference;
use super::process_stats::resident_kb;
use super::stomp::StompClient;
use super::{ServedPack, TURN_HEADER};

/// The number of streams of each conversation.
const STREAMS_PER_CONVERSATION: usize = 10;

/// The pack. Its turns call a model, so that their events are published in several slices.
const PACK: &str = "demo/model_acts";

/// The timeout for opening all streams, and for receiving all events after the last turn was answered.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The number of streams that are opened at the same time.
const MAX_OPENING: usize = 64;
/// The number of connections that send messages.
const SENDERS: usize = 8;

/// The number of events after which a restless stream reconnects.
const RECONNECT_AFTER_EVENTS: usize = 101;

/// The transport of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Sse,
    /// Server-sent events, reconnecting again and again after the last received event.
    ReconnectingSse,
    Stomp,
}

impl Transport {
    fn for_stream(number: usize) -> Transport {
        match number % STREAMS_PER_CONVERSATION {
            0 => Transport::ReconnectingSse,
            1 | 2 => Transport::Stomp,
            _ => Transport::Sse,
        }
    }
}

/// The results.
#[derive(Debug, Clone, Default)]
pub struct StreamReport {
    /// The number of streams.
    pub streams: usize,
    /// The number of streams over STOMP.
    pub stomp: usize,
    /// The number of reconnects.
    pub resumed: usize,
    /// The number of turns.
    pub turns: usize,
    /// The number of delivered events.
    pub events: usize,
    /// The latency of each event at each connected stream in milliseconds, sorted.
    pub millis: Vec<u32>,
    /// The server's resident memory per open stream, in bytes.
    pub bytes_a_stream: u64,
    /// The number of failures.
    pub failures: usize,
    /// Descriptions of the first few failures.
    pub failure_examples: Vec<String>,
}

impl StreamReport {
    /// Returns a percentile of the latency, in milliseconds.
    #[must_use]
    pub fn percentile_ms(&self, part: usize) -> u32 {
        self.millis.get(self.millis.len() * part / 100).copied().unwrap_or_default()
    }

    fn record_failure(&mut self, text: String) {
        self.failures += 1;
        if self.failure_examples.len() < 5 {
            self.failure_examples.push(text);
        }
    }
}

/// Opens `streams` streams on one server, runs their conversations, and waits until each stream has received all events.
///
/// # Errors
/// If the server cannot be reached, or the system does not allow enough open files.
pub fn run_streams(binary: &Path, kind: &DatabaseKind, streams: usize, rounds: usize) -> Result<StreamReport> {
    // The server is another process, which inherits the limit.
    allow_files(u64::try_from(streams)? * 2 + 1_000)?;
    let served = Rc::new(ServedPack::start(binary, kind, PACK, 0, &["convengine.transport.stomp.enabled=true".to_owned()])?);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Dropped here because a runtime may not be dropped within an asynchronous context.
    let seen = runtime.block_on(LocalSet::new().run_until(run_on_server(Rc::clone(&served), streams, rounds)));
    drop(runtime);
    seen
}

/// Raises the limit of open files for this process and its children.
fn allow_files(count: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|it| it >= count) {
        return Ok(());
    }
    let maximum = limit.maximum.unwrap_or(count).max(count);
    setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum: Some(maximum) })
        .with_context(|| format!("limit of open files is too low; run `ulimit -n {count}`"))
}

async fn run_on_server(served: Rc<ServedPack>, streams: usize, rounds: usize) -> Result<StreamReport> {
    let address = served.address().trim_start_matches("http://").to_owned();
    let talk = served.talks[0].clone();
    let turns = talk.turns.len() * rounds;
    // A first turn, so that memory allocated once is not attributed to streams.
    run_conversation(&address, &served, &Uuid::new_v4().to_string(), 1).await?;
    let before = resident_kb(served.process_id())?;
    let conversations: Vec<String> = (0..streams.div_ceil(STREAMS_PER_CONVERSATION)).map(|_| Uuid::new_v4().to_string()).collect();
    let seen = Rc::new(RefCell::new(StreamReport { streams, ..StreamReport::default() }));
    let (opening, opened) = (Rc::new(Semaphore::new(MAX_OPENING)), Rc::new(watch::Sender::new(0)));
    let readers: Vec<JoinHandle<Result<u64>>> = (0..streams)
        .map(|number| {
            let reader = Reader {
                address: address.clone(),
                conversation: conversations[number / STREAMS_PER_CONVERSATION].clone(),
                turns,
                transport: Transport::for_stream(number),
                report: Rc::clone(&seen),
                progress: StreamProgress::default(),
            };
            spawn_local(reader.read_all(Rc::clone(&opening), Rc::clone(&opened)))
        })
        .collect();
    timeout(TIMEOUT, opened.subscribe().wait_for(|it| *it == streams)).await.context("not all streams were opened")??;
    let after = resident_kb(served.process_id())?;
    seen.borrow_mut().bytes_a_stream = after.saturating_sub(before) * 1024 / u64::try_from(streams)?;
    let next = Rc::new(RefCell::new(conversations.clone().into_iter()));
    let asking: Vec<_> = (0..SENDERS)
        .map(|_| {
            let (next, served, address, seen) = (Rc::clone(&next), Rc::clone(&served), address.clone(), Rc::clone(&seen));
            spawn_local(async move {
                loop {
                    let Some(conversation) = next.borrow_mut().next() else { return anyhow::Ok(()) };
                    for words in run_conversation(&address, &served, &conversation, rounds).await? {
                        seen.borrow_mut().record_failure(words);
                    }
                    seen.borrow_mut().turns += turns;
                }
            })
        })
        .collect();
    for task in asking {
        task.await??;
    }
    compare_streams(readers, &seen).await?;
    let mut seen = seen.take();
    seen.millis.sort_unstable();
    Ok(seen)
}

/// Runs a conversation; returns descriptions of its wrong answers.
async fn run_conversation(address: &str, served: &ServedPack, conversation: &str, rounds: usize) -> Result<Vec<String>> {
    let mut client = Client::new(address);
    let mut wrong = Vec::new();
    for round in 0..rounds {
        for (turn, exchange) in served.talks[0].turns.iter().enumerate() {
            let (status, answer) = client.send_message(exchange.body(conversation), &[(TURN_HEADER, &turn.to_string())]).await?;
            // Later rounds continue from the state at the end of the first.
            let expected = if round == 0 { find_difference(exchange, status, &answer) } else { None };
            let failed = (!status.is_success()).then(|| format!("status {status}"));
            wrong.extend(expected.or(failed));
        }
    }
    Ok(wrong)
}

/// Checks that all streams of a conversation received the same events.
async fn compare_streams(readers: Vec<JoinHandle<Result<u64>>>, seen: &RefCell<StreamReport>) -> Result<()> {
    let mut of_conversation: Option<u64> = None;
    let until = Instant::now() + TIMEOUT;
    for (number, mut reader) in readers.into_iter().enumerate() {
        if number % STREAMS_PER_CONVERSATION == 0 {
            of_conversation = None;
        }
        let Ok(received) = timeout_at(until, &mut reader).await else {
            reader.abort();
            seen.borrow_mut().record_failure(format!("stream {number} has not received all events"));
            continue;
        };
        match received? {
            Ok(received) if *of_conversation.get_or_insert(received) == received => {}
            Ok(_) => seen.borrow_mut().record_failure(format!("stream {number} received different events than its sibling streams")),
            Err(error) => seen.borrow_mut().record_failure(format!("stream {number}: {error:#}")),
        }
    }
    Ok(())
}

/// The progress of a stream.
#[derive(Default)]
struct StreamProgress {
    turn: String,
    next_seq: u32,
    last_id: String,
    ended_turns: usize,
    event_hash: DefaultHasher,
    event_count: usize,
}

/// One stream.
struct Reader {
    address: String,
    conversation: String,
    turns: usize,
    transport: Transport,
    report: Rc<RefCell<StreamReport>>,
    progress: StreamProgress,
}

impl Reader {
    async fn read_all(mut self, opening: Rc<Semaphore>, opened: Rc<watch::Sender<usize>>) -> Result<u64> {
        let permit = opening.acquire().await?;
        let open = || opened.send_modify(|count| *count += 1);
        if self.transport == Transport::Stomp {
            let mut stomp = StompClient::connect(&self.address, "/ws-convengine/123/abcdefgh/websocket").await?;
            stomp.subscribe("sub-0", &self.conversation).await?;
            self.report.borrow_mut().stomp += 1;
            drop(permit);
            open();
            self.read_stomp(stomp).await?;
        } else {
            let mut body = self.open().await?;
            drop(permit);
            open();
            while !self.read_sse(body).await? {
                body = self.open().await?;
                self.report.borrow_mut().resumed += 1;
            }
        }
        Ok(self.progress.event_hash.finish())
    }

    async fn open(&self) -> Result<Incoming> {
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        spawn_local(connection);
        let mut request = Request::get(format!("/api/v1/conversation/stream/{}", self.conversation)).header(header::HOST, &self.address);
        if !self.progress.last_id.is_empty() {
            request = request.header("last-event-id", &self.progress.last_id);
        }
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        ensure!(response.status() == 200, "status {}", response.status());
        Ok(response.into_body())
    }

    /// Reads a stream; returns whether all turns were received.
    async fn read_sse(&mut self, mut body: Incoming) -> Result<bool> {
        let mut buffer = String::new();
        let since = self.progress.event_count;
        loop {
            let bytes = body.frame().await.with_context(|| self.describe_progress())??.into_data().unwrap_or_default();
            buffer.push_str(std::str::from_utf8(&bytes)?);
            let Some(end) = buffer.rfind("\n\n") else { continue };
            let rest = buffer.split_off(end + 2);
            for event in parse_events(&buffer) {
                match event.id {
                    Some(id) => self.record_event(id, event.name, event.data)?,
                    None => ensure!(!event.data.contains("\"resumed\":false"), "the stream cannot resume after {}", self.progress.last_id),
                }
                if self.progress.ended_turns == self.turns {
                    return Ok(true);
                }
                if self.transport == Transport::ReconnectingSse && self.progress.event_count - since == RECONNECT_AFTER_EVENTS {
                    return Ok(false);
                }
            }
            buffer = rest;
        }
    }

    async fn read_stomp(&mut self, mut stomp: StompClient) -> Result<()> {
        while self.progress.ended_turns < self.turns {
            let frame = stomp.next_frame().await?.with_context(|| self.describe_progress())?;
            let id = frame.parse_header("message-id").context("message without an id")?;
            let data = std::str::from_utf8(&frame.body)?;
            let stage = data.split_once("\"stage\":\"").and_then(|it| it.1.split_once('"')).map_or("", |it| it.0);
            self.record_event(id, stage, data)?;
        }
        Ok(())
    }

    fn record_event(&mut self, id: &str, name: &str, data: &str) -> Result<()> {
        let progress = &mut self.progress;
        let (turn, seq) = id.rsplit_once(':').context("id without a sequence number")?;
        if turn != progress.turn {
            ensure!(progress.next_seq == 0, "turn {} ends early at {}", progress.turn, progress.next_seq);
            turn.clone_into(&mut progress.turn);
        }
        let seq: u32 = seq.parse()?;
        // A turn that ended while the stream reconnected is replayed without its progress messages; the hash shows that nothing else is missing.
        let may_skip = self.transport == Transport::ReconnectingSse && seq > progress.next_seq;
        ensure!(seq == progress.next_seq || may_skip, "received {id}, expected number {}", progress.next_seq);
        progress.next_seq = seq + 1;
        progress.event_count += 1;
        if name != "VERBOSE" {
            id.hash(&mut progress.event_hash);
            data.hash(&mut progress.event_hash);
        }
        id.clone_into(&mut progress.last_id);
        if name == "ENGINE_RETURN" && !data.contains("\"final_result\":")
            || name == "STEP_EXIT" && data.contains("\"step\":\"PipelineEndGuardStep\"")
        {
            progress.next_seq = 0;
            progress.ended_turns += 1;
        }
        let at = data
            .split_once("\"createdAt\":\"")
            .and_then(|parts| clock::parse(parts.1.split_once('"')?.0))
            .context("event without a time")?;
        let mut seen = self.report.borrow_mut();
        seen.events += 1;
        if self.transport != Transport::ReconnectingSse {
            seen.millis.push(u32::try_from((clock::now() - at).max(0)).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    fn describe_progress(&self) -> String {
        format!("received {} of {} turns, the last event is {}", self.progress.ended_turns, self.turns, self.progress.last_id)
    }
}
