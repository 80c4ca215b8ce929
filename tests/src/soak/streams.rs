//! Thousands of open streams while turns go on: each hears its conversation whole and in order.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use convengine_server::clock;
use convengine_server::stream::parse_events;
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
use super::database::Kind;
use super::load::other;
use super::stomp::Stomp;
use super::watch::resident_kb;
use super::{Served, TURN};

/// Streams of each conversation.
const EACH: usize = 10;

/// The pack whose turns go on: a model is asked in each, so that a turn is told in pieces.
const PACK: &str = "demo/model_acts";

/// How long it may take until all streams are open, and until they have heard everything once the last turn was answered.
const PATIENCE: Duration = Duration::from_secs(120);

/// Connections that are made at the same time, and those on which turns are asked for.
const OPENING: usize = 64;
const ASKING: usize = 8;

/// After so many events a restless stream breaks off and comes back.
const RESTLESS: usize = 101;

/// How a stream is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Sse,
    /// Breaks off again and again, and goes on after the last event.
    Restless,
    Stomp,
}

impl Way {
    fn of(number: usize) -> Way {
        match number % EACH {
            0 => Way::Restless,
            1 | 2 => Way::Stomp,
            _ => Way::Sse,
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Streams, and those of them that spoke STOMP.
    pub streams: usize,
    /// Of them.
    pub stomp: usize,
    /// How often a stream went on after it had broken off.
    pub resumed: usize,
    /// Turns.
    pub turns: usize,
    /// Events that were delivered.
    pub events: usize,
    /// Milliseconds from each event to each of its readers that were there, the quickest first.
    pub millis: Vec<u32>,
    /// Resident memory of the server for each open stream.
    pub bytes_a_stream: u64,
    /// What was wrong, and the first few in words.
    pub failures: usize,
    /// The words.
    pub failed: Vec<String>,
}

impl Seen {
    /// The time within which so many percent of the events reached their readers.
    #[must_use]
    pub fn percentile_ms(&self, part: usize) -> u32 {
        self.millis.get(self.millis.len() * part / 100).copied().unwrap_or_default()
    }

    fn wrong(&mut self, words: String) {
        self.failures += 1;
        if self.failed.len() < 5 {
            self.failed.push(words);
        }
    }
}

/// Opens so many streams on one server, holds the conversations that they are of, and waits until each has heard everything.
///
/// # Errors
/// When the server cannot be reached, or the system does not allow so many files.
pub fn hold(binary: &Path, kind: &Kind, streams: usize, rounds: usize) -> Result<Seen> {
    // The server's side and this one are different processes; the server inherits the limit.
    allow_files(u64::try_from(streams)? * 2 + 1_000)?;
    let served = Rc::new(Served::start(binary, kind, PACK, 0, &["convengine.transport.stomp.enabled=true".to_owned()])?);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // It ends outside of what runs in there.
    let seen = runtime.block_on(LocalSet::new().run_until(run(Rc::clone(&served), streams, rounds)));
    drop(runtime);
    seen
}

/// Lets this process, and those that it starts, have so many files open.
fn allow_files(count: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|it| it >= count) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(count).max(count);
    setrlimit(Resource::Nofile, Rlimit { current: Some(count), maximum: Some(most) })
        .with_context(|| format!("the system allows too few open files: type ulimit -n {count}"))
}

async fn run(served: Rc<Served>, streams: usize, rounds: usize) -> Result<Seen> {
    let address = served.address().trim_start_matches("http://").to_owned();
    let talk = served.talks[0].clone();
    let turns = talk.turns.len() * rounds;
    // What a server has from its first turn on is not for its streams.
    ask(&address, &served, &Uuid::new_v4().to_string(), 1).await?;
    let before = resident_kb(served.process_id())?;
    let conversations: Vec<String> = (0..streams.div_ceil(EACH)).map(|_| Uuid::new_v4().to_string()).collect();
    let seen = Rc::new(RefCell::new(Seen { streams, ..Seen::default() }));
    let (opening, opened) = (Rc::new(Semaphore::new(OPENING)), Rc::new(watch::Sender::new(0)));
    let readers: Vec<JoinHandle<Result<u64>>> = (0..streams)
        .map(|number| {
            let reader = Reader {
                address: address.clone(),
                conversation: conversations[number / EACH].clone(),
                turns,
                way: Way::of(number),
                seen: Rc::clone(&seen),
                heard: Heard::default(),
            };
            spawn_local(reader.hear(Rc::clone(&opening), Rc::clone(&opened)))
        })
        .collect();
    timeout(PATIENCE, opened.subscribe().wait_for(|it| *it == streams)).await.context("not all streams are open")??;
    let after = resident_kb(served.process_id())?;
    seen.borrow_mut().bytes_a_stream = after.saturating_sub(before) * 1024 / u64::try_from(streams)?;
    let next = Rc::new(RefCell::new(conversations.clone().into_iter()));
    let asking: Vec<_> = (0..ASKING)
        .map(|_| {
            let (next, served, address, seen) = (Rc::clone(&next), Rc::clone(&served), address.clone(), Rc::clone(&seen));
            spawn_local(async move {
                loop {
                    let Some(conversation) = next.borrow_mut().next() else { return anyhow::Ok(()) };
                    for words in ask(&address, &served, &conversation, rounds).await? {
                        seen.borrow_mut().wrong(words);
                    }
                    seen.borrow_mut().turns += turns;
                }
            })
        })
        .collect();
    for it in asking {
        it.await??;
    }
    judge(readers, &seen).await?;
    let mut seen = seen.take();
    seen.millis.sort_unstable();
    Ok(seen)
}

/// Holds a conversation; answers in which ways its answers were wrong.
async fn ask(address: &str, served: &Served, conversation: &str, rounds: usize) -> Result<Vec<String>> {
    let mut client = Client::new(address);
    let mut wrong = Vec::new();
    for round in 0..rounds {
        for (turn, exchange) in served.talks[0].turns.iter().enumerate() {
            let (status, answer) = client.say(exchange.body(conversation), &[(TURN, &turn.to_string())]).await?;
            // Later rounds go on where the conversation is by then.
            let expected = if round == 0 { other(exchange, status, &answer) } else { None };
            let failed = (!status.is_success()).then(|| format!("status {status}"));
            wrong.extend(expected.or(failed));
        }
    }
    Ok(wrong)
}

/// All streams of a conversation have heard the same.
async fn judge(readers: Vec<JoinHandle<Result<u64>>>, seen: &RefCell<Seen>) -> Result<()> {
    let mut of_conversation: Option<u64> = None;
    let until = Instant::now() + PATIENCE;
    for (number, mut reader) in readers.into_iter().enumerate() {
        if number % EACH == 0 {
            of_conversation = None;
        }
        let Ok(heard) = timeout_at(until, &mut reader).await else {
            reader.abort();
            seen.borrow_mut().wrong(format!("stream {number} has not heard everything"));
            continue;
        };
        match heard? {
            Ok(heard) if *of_conversation.get_or_insert(heard) == heard => {}
            Ok(_) => seen.borrow_mut().wrong(format!("stream {number} has heard other events than those beside it")),
            Err(error) => seen.borrow_mut().wrong(format!("stream {number}: {error:#}")),
        }
    }
    Ok(())
}

/// What a stream has heard.
#[derive(Default)]
struct Heard {
    turn: String,
    next: u32,
    last: String,
    ended: usize,
    all: DefaultHasher,
    since: usize,
}

/// One stream.
struct Reader {
    address: String,
    conversation: String,
    turns: usize,
    way: Way,
    seen: Rc<RefCell<Seen>>,
    heard: Heard,
}

impl Reader {
    async fn hear(mut self, opening: Rc<Semaphore>, opened: Rc<watch::Sender<usize>>) -> Result<u64> {
        let permit = opening.acquire().await?;
        let open = || opened.send_modify(|it| *it += 1);
        if self.way == Way::Stomp {
            let mut stomp = Stomp::connect(&self.address, "/ws-convengine/123/abcdefgh/websocket").await?;
            stomp.subscribe("sub-0", &self.conversation).await?;
            self.seen.borrow_mut().stomp += 1;
            drop(permit);
            open();
            self.hear_stomp(stomp).await?;
        } else {
            let mut body = self.open().await?;
            drop(permit);
            open();
            while !self.hear_stream(body).await? {
                body = self.open().await?;
                self.seen.borrow_mut().resumed += 1;
            }
        }
        Ok(self.heard.all.finish())
    }

    async fn open(&self) -> Result<Incoming> {
        let stream = TcpStream::connect(&self.address).await?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        spawn_local(connection);
        let mut request = Request::get(format!("/api/v1/conversation/stream/{}", self.conversation)).header(header::HOST, &self.address);
        if !self.heard.last.is_empty() {
            request = request.header("last-event-id", &self.heard.last);
        }
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await?;
        ensure!(response.status() == 200, "status {}", response.status());
        Ok(response.into_body())
    }

    /// Hears a stream; answers whether that was all.
    async fn hear_stream(&mut self, mut body: Incoming) -> Result<bool> {
        let mut waiting = String::new();
        let since = self.heard.since;
        loop {
            let bytes = body.frame().await.with_context(|| self.missing())??.into_data().unwrap_or_default();
            waiting.push_str(std::str::from_utf8(&bytes)?);
            let Some(end) = waiting.rfind("\n\n") else { continue };
            let rest = waiting.split_off(end + 2);
            for event in parse_events(&waiting) {
                match event.id {
                    Some(id) => self.take(id, event.name, event.data)?,
                    None => ensure!(!event.data.contains("\"resumed\":false"), "it cannot go on after {}", self.heard.last),
                }
                if self.heard.ended == self.turns {
                    return Ok(true);
                }
                if self.way == Way::Restless && self.heard.since - since == RESTLESS {
                    return Ok(false);
                }
            }
            waiting = rest;
        }
    }

    async fn hear_stomp(&mut self, mut stomp: Stomp) -> Result<()> {
        while self.heard.ended < self.turns {
            let frame = stomp.next().await?.with_context(|| self.missing())?;
            let id = frame.parse_header("message-id").context("a message without an id")?;
            let data = std::str::from_utf8(&frame.body)?;
            let stage = data.split_once("\"stage\":\"").and_then(|it| it.1.split_once('"')).map_or("", |it| it.0);
            self.take(id, stage, data)?;
        }
        Ok(())
    }

    fn take(&mut self, id: &str, name: &str, data: &str) -> Result<()> {
        let heard = &mut self.heard;
        let (turn, seq) = id.rsplit_once(':').context("an id without a number")?;
        if turn != heard.turn {
            ensure!(heard.next == 0, "turn {} breaks off at {}", heard.turn, heard.next);
            turn.clone_into(&mut heard.turn);
        }
        if seq.parse::<u32>()? != heard.next {
            bail!("{id} comes where {} should", heard.next);
        }
        heard.next += 1;
        heard.since += 1;
        id.hash(&mut heard.all);
        data.hash(&mut heard.all);
        id.clone_into(&mut heard.last);
        if name == "ENGINE_RETURN" && !data.contains("\"final_result\":")
            || name == "STEP_EXIT" && data.contains("\"step\":\"PipelineEndGuardStep\"")
        {
            heard.next = 0;
            heard.ended += 1;
        }
        let at =
            data.split_once("\"createdAt\":\"").and_then(|it| clock::parse(it.1.split_once('"')?.0)).context("an event without a time")?;
        let mut seen = self.seen.borrow_mut();
        seen.events += 1;
        if self.way != Way::Restless {
            seen.millis.push(u32::try_from((clock::now() - at).max(0)).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    fn missing(&self) -> String {
        format!("{} turns of {} were heard, the last event is {}", self.heard.ended, self.turns, self.heard.last)
    }
}
