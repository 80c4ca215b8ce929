//! The upper bound of the server's throughput: its router, writer and store with pre-rendered rows; no turn is run.
//!
//! `ceiling DATABASE PACK` listens like `convengine serve`. Each message of the pack stores the rows and returns the answer that were
//! recorded for it, with the caller's conversation id and a new turn id.
//!
//! `ceiling DATABASE PACK TURNS` also accepts packs whose turns request effects, and repeats their messages up to `TURNS` turns; the
//! header `x-turn` gives the number of the turn, from 0.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Router, serve};
use convengine_core::turn::{Notice, Outcome, Turn};
use convengine_host::api::request::MessageBody;
use convengine_host::app;
use convengine_host::arguments::Options;
use convengine_host::config::pack_file;
use convengine_host::config::settings::Settings;
use convengine_host::ops::observe::SpanSender;
use convengine_host::runtime::rows;
use convengine_host::runtime::turn_runner::Host;
use convengine_host::storage::turn_rows::TurnRows;
use convengine_tests::effect_free::EffectFreePack;
use convengine_tests::soak::TURN_HEADER;
use convengine_tests::soak::talk::play;
use mimalloc::MiMalloc;
use tokio::net::TcpListener;
use uuid::Uuid;

/// That of the server.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// A text with placeholders for the conversation id and the turn id; each part is followed by its placeholder.
struct Template(Vec<(String, Placeholder)>);

#[derive(Clone, Copy)]
enum Placeholder {
    Conversation,
    Turn,
    None,
}

struct RecordedTurn {
    /// The ids that are replaced in the rows.
    conversation: String,
    turn: String,
    rows: TurnRows,
    answer: Template,
}

struct Ceiling {
    host: Arc<Host>,
    turns: HashMap<String, RecordedTurn>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (database, recorded) = match arguments.as_slice() {
        [database, pack] => (database, record_by_text(&EffectFreePack::open(Path::new(pack))?)?),
        [database, pack, turns] => (database, record_by_number(Path::new(pack), turns.parse()?)?),
        _ => bail!("usage: ceiling DATABASE PACK [TURNS]"),
    };
    let settings = Settings::load(&Options { database: Some(database.clone()), ..Options::default() })?;
    let (host, _writing) = app::build_host(&settings, SpanSender::default()).await?;
    let routes = app::with_middleware(Router::new().route(app::MESSAGE_PATH, post(handle_message)))
        .with_state(Arc::new(Ceiling { host, turns: recorded }));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("convengine listening on http://{}", listener.local_addr()?);
    serve(listener, routes).await?;
    Ok(())
}

/// Records the turns of a conversation without effects, by message text.
fn record_by_text(conversation: &EffectFreePack) -> Result<HashMap<String, RecordedTurn>> {
    let mut recorded = HashMap::new();
    conversation.play(|ended| {
        let text = ended.turn.journal().input.event.text.clone().context("message without text")?;
        recorded.insert(text, render_recorded_turn(&ended.turn, &ended.outcome, &ended.notices)?);
        Ok(())
    })?;
    Ok(recorded)
}

/// Records the turns of a conversation, by number from 0.
fn record_by_number(pack: &Path, turns: usize) -> Result<HashMap<String, RecordedTurn>> {
    let mut recorded = HashMap::new();
    play(&pack_file::read(pack)?, turns, |_, played, config| {
        let (turn, slice) = Turn::restore(played.journal.clone(), Arc::clone(config))?;
        let outcome = slice.end.context("the journal is of a turn that has not ended")?;
        recorded.insert(recorded.len().to_string(), render_recorded_turn(&turn, &outcome, &slice.notices)?);
        Ok(())
    })?;
    Ok(recorded)
}

fn render_recorded_turn(turn: &Turn, outcome: &Outcome, notices: &[Notice]) -> Result<RecordedTurn> {
    let input = &turn.journal().input;
    let rows = rows::render_turn(turn, outcome, notices, 1, rows::RowContext::default())?;
    let answer = Template::parse(&outcome.to_response().to_string(), &input.conversation, &input.turn);
    Ok(RecordedTurn { conversation: input.conversation.clone(), turn: input.turn.clone(), rows, answer })
}

async fn handle_message(State(ceiling): State<Arc<Ceiling>>, headers: HeaderMap, body: Bytes) -> Response {
    match store_and_answer(&ceiling, &headers, &body).await {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

async fn store_and_answer(ceiling: &Ceiling, headers: &HeaderMap, body: &[u8]) -> Result<String> {
    let body = MessageBody::parse(body).map_err(anyhow::Error::msg)?;
    let conversation = body.conversation.context("message without conversation")?;
    let number = headers.get(TURN_HEADER).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let recorded = number.or(body.message).and_then(|it| ceiling.turns.get(&it)).context("message is not part of the pack")?;
    let turn = Uuid::new_v4().to_string();
    let mut rows = recorded.rows.clone();
    rows.replace(&recorded.conversation, &conversation);
    rows.replace(&recorded.turn, &turn);
    ceiling.host.writer.commit(&conversation, rows).await?;
    Ok(recorded.answer.fill(&conversation, &turn))
}

impl Template {
    fn parse(text: &str, conversation: &str, turn: &str) -> Template {
        let mut pieces = Vec::new();
        let mut rest = text;
        loop {
            let next = [(conversation, Placeholder::Conversation), (turn, Placeholder::Turn)]
                .into_iter()
                .filter_map(|it| Some((rest.find(it.0)?, it)));
            let Some((at, (id, gap))) = next.min_by_key(|it| it.0) else { break };
            let (before, after) = rest.split_at(at);
            pieces.push((before.to_owned(), gap));
            rest = after.strip_prefix(id).unwrap_or(after);
        }
        pieces.push((rest.to_owned(), Placeholder::None));
        Template(pieces)
    }

    fn fill(&self, conversation: &str, turn: &str) -> String {
        let mut text = String::with_capacity(self.0.iter().map(|it| it.0.len() + conversation.len()).sum());
        for (before, gap) in &self.0 {
            text.push_str(before);
            match gap {
                Placeholder::Conversation => text.push_str(conversation),
                Placeholder::Turn => text.push_str(turn),
                Placeholder::None => {}
            }
        }
        text
    }
}
