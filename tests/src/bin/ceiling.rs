//! The upper bound of the server's throughput: its router, writer and store with the rows of recorded turns; no turn is run and none is
//! loaded.
//!
//! `ceiling DATABASE PACK [--set KEY=VALUE]…` listens like `convengine serve`. Each message of the pack stores the rows and returns the
//! answer that were recorded for it, with the caller's conversation id and a new turn id. The pack has tables or a flow, whose first turn
//! starts a session.
//!
//! `ceiling DATABASE PACK TURNS` also accepts packs whose turns request effects, and repeats their messages up to `TURNS` turns; the
//! header `x-turn` gives the number of the turn, from 0.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, serve};
use convengine_core::pack::Pack;
use convengine_core::turn::{Notice, Outcome, Turn};
use convengine_host::api::host::Host;
use convengine_host::app;
use convengine_host_base::pack_file;
use convengine_settings::{AuditMode, Options, Settings};
use convengine_storage::turn_rows::TurnRows;
use convengine_tests::effect_free::EffectFreePack;
use convengine_tests::soak::TURN_HEADER;
use convengine_tests::soak::talk::play;
use convengine_turns::observe::SpanSender;
use convengine_turns::rows;
use mimalloc::MiMalloc;
use serde_json::Value;
use tokio::net::TcpListener;
use uuid::Uuid;

/// That of the server.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The key of the turn that starts a session.
const START: &str = "";

struct RecordedTurn {
    /// The ids that are replaced in rows and answer.
    conversation: String,
    turn: String,
    rows: TurnRows,
    answer: String,
}

struct Ceiling {
    host: Arc<Host>,
    turns: HashMap<String, RecordedTurn>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let (mut places, mut set) = (Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--set" { set.extend(arguments.next()) } else { places.push(argument) }
    }
    let [database, pack, turns @ ..] = places.as_slice() else { bail!("usage: ceiling DATABASE PACK [TURNS] [--set KEY=VALUE]…") };
    let settings = Settings::load(&Options { database: Some(database.clone()), set: set.clone(), ..Options::default() })?;
    let mut read = pack_file::read(Path::new(pack))?;
    set.iter().filter_map(|it| it.split_once('=')).for_each(|(key, value)| apply_setting(&mut read, key, value));
    let recorder = Recorder { derives_audit: settings.turns.audit == AuditMode::Derived };
    let turns = match turns {
        [] => recorder.record_by_text(&read)?,
        [turns, ..] => recorder.record_by_number(&read, turns.parse()?)?,
    };
    let (host, _writing) = Host::start(&settings, SpanSender::default()).await?;
    let routes = app::with_middleware(Router::new().fallback(handle_message)).with_state(Arc::new(Ceiling { host, turns }));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("convengine listening on http://{}", listener.local_addr()?);
    serve(listener, routes).await?;
    Ok(())
}

/// Sets a `convengine.*` setting in a pack.
fn apply_setting(pack: &mut Pack, key: &str, value: &str) {
    let mut at = &mut pack.settings;
    for member in key.trim_start_matches("convengine.").split('.') {
        if !at.is_object() {
            *at = Value::Object(serde_json::Map::new());
        }
        at = &mut at[member];
    }
    *at = serde_json::from_str(value).unwrap_or_else(|_| value.into());
}

/// Records turns as the server would store them.
struct Recorder {
    derives_audit: bool,
}

impl Recorder {
    /// Records the turns of a conversation without effects, by message text.
    fn record_by_text(&self, pack: &Pack) -> Result<HashMap<String, RecordedTurn>> {
        let mut recorded = HashMap::new();
        EffectFreePack::from_pack(pack)?.play(|ended| {
            let event = &ended.turn.journal().input.event;
            let text = event.text.as_deref().or_else(|| event.flow.as_deref()?.get("text")?.as_str()).unwrap_or(START);
            recorded.insert(text.to_owned(), self.record(&ended.turn, &ended.outcome, &ended.notices)?);
            Ok(())
        })?;
        Ok(recorded)
    }

    /// Records the turns of a conversation, by number from 0.
    fn record_by_number(&self, pack: &Pack, turns: usize) -> Result<HashMap<String, RecordedTurn>> {
        let mut recorded = HashMap::new();
        play(pack, turns, |_, played, config| {
            let (turn, slice) = Turn::restore(played.journal.clone(), Arc::clone(config))?;
            let outcome = slice.end.context("the journal is of a turn that has not ended")?;
            recorded.insert(recorded.len().to_string(), self.record(&turn, &outcome, &slice.notices)?);
            Ok(())
        })?;
        Ok(recorded)
    }

    fn record(&self, turn: &Turn, outcome: &Outcome, notices: &[Notice]) -> Result<RecordedTurn> {
        let input = &turn.journal().input;
        let about = rows::RowContext { derives_audit: self.derives_audit, ..rows::RowContext::default() };
        Ok(RecordedTurn {
            conversation: input.conversation.clone(),
            turn: input.turn.clone(),
            rows: rows::render_turn(turn, outcome, notices, 1, about)?,
            answer: outcome.to_response().to_string(),
        })
    }
}

async fn handle_message(State(ceiling): State<Arc<Ceiling>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    match store_and_answer(&ceiling, uri.path(), &headers, &body).await {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

async fn store_and_answer(ceiling: &Ceiling, path: &str, headers: &HeaderMap, body: &[u8]) -> Result<String> {
    let body: Value = serde_json::from_slice(body)?;
    let text = |key: &str| body.get(key).and_then(Value::as_str);
    let session = path.split_once("/sessions/").and_then(|parts| parts.1.split('/').next()).map(str::to_owned);
    let conversation = text("conversationId").map(str::to_owned).or(session).unwrap_or_else(|| Uuid::new_v4().to_string());
    let number = headers.get(TURN_HEADER).and_then(|value| value.to_str().ok());
    let key = number.or(text("message")).or(text("text")).unwrap_or(START);
    let recorded = ceiling.turns.get(key).context("message is not part of the pack")?;
    let turn = Uuid::new_v4().to_string();
    let mut rows = recorded.rows.clone();
    rows.replace(&recorded.conversation, &conversation);
    rows.replace(&recorded.turn, &turn);
    ceiling.host.turns.writer.commit(&conversation, rows).await?;
    Ok(recorded.answer.replace(&recorded.conversation, &conversation).replace(&recorded.turn, &turn))
}
