//! Repeats a pack's conversation with a server and prints throughput and latency as JSON.
//!
//! `load ADDRESS PACK CONNECTIONS seconds:S|conversations:N`. Each answer must have status 200 and `"success":true`.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use convengine_core::pack::Pack;
use convengine_host::app;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use uuid::Uuid;

/// When to stop.
#[derive(Clone)]
enum Until {
    Time(Instant),
    /// The number of conversations still to start, shared by all connections.
    Conversations(Rc<Cell<usize>>),
}

#[derive(Default)]
struct Measurements {
    conversations: usize,
    micros: Vec<u64>,
}

fn main() -> Result<()> {
    // A single thread leaves the other processors to the server, which is what is measured.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(LocalSet::new().run_until(run()))
}

async fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, pack, connections, until] = arguments.as_slice() else {
        bail!("usage: load ADDRESS PACK CONNECTIONS seconds:S|conversations:N")
    };
    let pack = Pack::parse(&std::fs::read_to_string(Path::new(pack))?)?;
    let bodies: Vec<Value> = pack.turns.into_iter().filter_map(|it| it.request).map(|it| it.body).collect();
    let until = Until::parse(until)?;
    let started = Instant::now();
    let mut talks = Vec::new();
    for _ in 0..connections.parse()? {
        talks.push(tokio::task::spawn_local(run_conversations(address.clone(), bodies.clone(), until.clone())));
    }
    let mut seen = Measurements::default();
    for talk in talks {
        let one = talk.await??;
        seen.conversations += one.conversations;
        seen.micros.extend(one.micros);
    }
    let seconds = started.elapsed().as_secs_f64();
    seen.micros.sort_unstable();
    let percentile = |part: usize| seen.micros.get(seen.micros.len() * part / 100).copied().unwrap_or_default();
    let turns = seen.micros.len();
    println!(
        "{}",
        json!({
            "turns": turns, "conversations": seen.conversations, "seconds": seconds, "p50_us": percentile(50), "p99_us": percentile(99),
        })
    );
    Ok(())
}

async fn run_conversations(address: String, bodies: Vec<Value>, until: Until) -> Result<Measurements> {
    let stream = TcpStream::connect(&address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::task::spawn_local(connection);
    let mut seen = Measurements::default();
    while until.should_continue() {
        seen.conversations += 1;
        let conversation = Uuid::new_v4().to_string();
        for body in &bodies {
            let mut body = body.clone();
            body["conversationId"] = conversation.clone().into();
            let sent = Instant::now();
            send_message(&mut sender, &address, body.to_string()).await?;
            seen.micros.push(u64::try_from(sent.elapsed().as_micros())?);
        }
    }
    Ok(seen)
}

async fn send_message(sender: &mut SendRequest<Full<Bytes>>, address: &str, body: String) -> Result<()> {
    let request = Request::post(app::MESSAGE_PATH)
        .header(header::HOST, address)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let text = std::str::from_utf8(&body)?;
    ensure!(status == StatusCode::OK && text.contains("\"success\":true"), "the server answered {status}: {text}");
    Ok(())
}

impl Until {
    fn parse(text: &str) -> Result<Until> {
        let (unit, number) = text.split_once(':').context("expected seconds:S or conversations:N")?;
        let number: usize = number.parse()?;
        match unit {
            "seconds" => Ok(Until::Time(Instant::now() + Duration::from_secs(u64::try_from(number)?))),
            "conversations" => Ok(Until::Conversations(Rc::new(Cell::new(number)))),
            _ => bail!("expected seconds:S or conversations:N, not '{text}'"),
        }
    }

    /// Returns whether to start another conversation.
    fn should_continue(&self) -> bool {
        match self {
            Until::Time(end) => Instant::now() < *end,
            Until::Conversations(left) => left.replace(left.get().saturating_sub(1)) > 0,
        }
    }
}
