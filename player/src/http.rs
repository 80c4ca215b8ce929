//! Plays packs over HTTP against a server of its own, reading its database after each turn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use convengine_core::config::Config;
use convengine_core::pack::{Pack, PackRequest, ScriptedCall};
use convengine_core::turn::{Journal, JournalEntry, Request, Turn};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row};

use super::core::{add_intent_and_state, llm_call_json, parse_context, verbose_row};
use super::expect::PlayedTurn;
use super::flow;
use super::server::{PackServer, ServerOptions};
use convengine_host::app::REFRESH_PATH;
use convengine_storage::{self as storage, Pool};
use convengine_turns::audit::{self, derive::ConfigCache};

/// Plays the turns of a pack against a server.
pub struct HttpPlayer {
    config: Arc<Config>,
    client: reqwest::Client,
    pool: Pool,
    seen_rows: BTreeMap<String, SeenRows>,
    /// The first conversation of each label.
    labels: BTreeMap<String, String>,
    /// The journals of what the last turn of the pack has run, each with its configuration.
    journals: Vec<(Journal, Arc<Config>)>,
    server: PackServer,
}

/// The rows of a conversation that belong to earlier turns.
#[derive(Debug, Clone, Copy, Default)]
struct SeenRows {
    audit: usize,
    turns: usize,
    calls: usize,
}

impl HttpPlayer {
    /// Imports the pack and starts a server of it.
    ///
    /// # Errors
    /// Returns an error when the pack cannot be imported or the server does not start.
    pub fn start(pack: &Pack, path: &Path, options: &ServerOptions) -> Result<HttpPlayer> {
        let server = PackServer::start(pack, path, options)?;
        let database = storage::DatabaseConfig { url: server.database().to_owned(), full_sync: false };
        let pool = server.block_on(storage::open_reader_pool(&database)).map_err(|it| anyhow!("{it}"))?;
        let client = convengine_host_base::tls::client_for("http:").build()?;
        let config = Arc::new(server.pack().compile().0);
        for name in flow::secret_names(server.pack()) {
            let body = json!({"name": name, "value": format!("the value of {name}")});
            let request = PackRequest { method: "POST".to_owned(), path: "/v1/secrets".to_owned(), body, content_type: None };
            let (status, _) = server.block_on(send(&client, server.address(), &request))?;
            ensure!(status == 201, "cannot store secret '{name}': status {status}");
        }
        for request in flow::publish_requests(server.pack()) {
            let (status, body) = server.block_on(send(&client, server.address(), &request))?;
            ensure!(status == 201, "cannot publish with {}: {status} {body}", request.path);
        }
        Ok(HttpPlayer { config, client, pool, seen_rows: BTreeMap::new(), labels: BTreeMap::new(), journals: Vec::new(), server })
    }

    /// The server.
    pub fn server(&self) -> &PackServer {
        &self.server
    }

    /// The base URL of the server.
    pub fn address(&self) -> &str {
        self.server.address()
    }

    /// Returns the journals of what the last turn of the pack has run, once, each with its configuration.
    pub(super) fn take_journals(&mut self) -> Vec<(Journal, Arc<Config>)> {
        std::mem::take(&mut self.journals)
    }

    /// Plays one turn.
    ///
    /// # Errors
    /// Returns an error when the server cannot be reached or its database cannot be read.
    pub fn play(&mut self, turn: usize) -> Result<PlayedTurn> {
        self.journals.clear();
        let server = &self.server;
        let of_pack = server.pack().turns.get(turn).cloned().ok_or_else(|| anyhow!("the pack has no turn {turn}"))?;
        if let Some(sql) = of_pack.admin_sql.as_ref().and_then(Value::as_str) {
            server.block_on(run_admin_sql(&self.pool, sql))?;
            if of_pack.cache_refreshed {
                let refresh =
                    PackRequest { method: "POST".to_owned(), path: REFRESH_PATH.to_owned(), body: Value::Null, content_type: None };
                let (status, _) = server.block_on(send(&self.client, server.address(), &refresh))?;
                ensure!(status == 200, "cannot refresh the configuration after {sql}: status {status}");
            }
        }
        let Some(request) = of_pack.request else { return Ok(PlayedTurn::default()) };
        if let Some(request) = flow::session_request(&request, of_pack.conversation.as_deref()) {
            return self.play_session(&request, &flow::session_id(of_pack.conversation.as_deref()));
        }
        let (status, mut body) = server.block_on(send(&self.client, server.address(), &request))?;
        parse_context(&mut body);
        let sent = request.body.get("conversationId").and_then(Value::as_str);
        let named = body.get("conversationId").and_then(Value::as_str).or(sent).map(str::to_lowercase);
        let named = named.filter(|id| id.len() == 36 && uuid::Uuid::try_parse(id).is_ok());
        let label = of_pack.conversation.unwrap_or_default();
        if let (Some(id), false) = (&named, self.labels.contains_key(&label)) {
            self.labels.insert(label.clone(), id.clone());
        }
        // Recordings contain the row of the label's first conversation, whichever conversation a request addresses.
        let first = self.labels.get(&label);
        let mut played = PlayedTurn { status, json: body, ..PlayedTurn::default() };
        if let Some(id) = named.as_ref().or(first) {
            let counts = self.seen_rows.entry(id.clone()).or_default();
            server.block_on(read_turn_results(&self.pool, &self.config, id, counts, &mut played, &mut self.journals))?;
        }
        if let Some(id) = first {
            server.block_on(read_conversation_rows(&self.pool, id, &mut played))?;
        }
        Ok(played)
    }
}

impl HttpPlayer {
    /// Plays a turn of a session.
    fn play_session(&mut self, request: &PackRequest, session: &str) -> Result<PlayedTurn> {
        let server = &self.server;
        let (status, body) = server.block_on(send(&self.client, server.address(), request))?;
        let mut played = PlayedTurn { status, json: body, ..PlayedTurn::default() };
        let counts = self.seen_rows.entry(session.to_owned()).or_default();
        server.block_on(read_turn_results(&self.pool, &self.config, session, counts, &mut played, &mut self.journals))?;
        let sql = "select cast(state as text) from cs_session where cast(session_id as text) = $1";
        let rows = server.block_on(query_texts(&self.pool, sql, session))?;
        let state = rows.into_iter().flatten().next().flatten().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        if let (Some(state), 200 | 201) = (state, status) {
            flow::add_talk_members(&mut played.json, &state);
            // As in the core, where starting a session is an ordinary turn.
            played.status = 200;
        }
        Ok(played)
    }
}

async fn send(client: &reqwest::Client, address: &str, request: &PackRequest) -> Result<(u16, Value)> {
    let method = reqwest::Method::from_bytes(request.method.as_bytes())?;
    let mut call = client.request(method, format!("{address}{}", request.path));
    let body = match &request.body {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    };
    if let Some(content_type) = request.content_type.as_deref().or(body.as_ref().map(|_| "application/json")) {
        call = call.header("Content-Type", content_type);
    }
    if let Some(body) = body {
        call = call.body(body);
    }
    let response = call.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
}

/// Reads the audit rows, model calls and journals of the turn.
async fn read_turn_results(
    pool: &Pool,
    config: &Arc<Config>,
    id: &str,
    counts: &mut SeenRows,
    played: &mut PlayedTurn,
    journals: &mut Vec<(Journal, Arc<Config>)>,
) -> Result<()> {
    let rows = audit::list_rows(pool, id, ConfigCache::with_config(config)).await?;
    played.audit = rows
        .into_iter()
        .skip(counts.audit)
        .map(|row| (row.stage, serde_json::from_str(&row.payload_json).unwrap_or(Value::Null)))
        .collect();
    counts.audit += played.audit.len();
    let mut configs = ConfigCache::with_config(config);
    for turn in storage::turn::list_ended(pool, id).await?.iter().skip(counts.turns) {
        counts.turns += 1;
        // A workflow runs with the documents that it found on the server.
        let stored = configs.load(pool, &turn.config_hash).await?;
        let config = stored.as_ref().unwrap_or(config);
        let journal = storage::turn::decompress(&turn.journal)?;
        // Progress messages are not stored; a replay publishes them again.
        let (_, slice) = Turn::restore(journal.clone(), Arc::clone(config))?;
        journals.push((journal.clone(), Arc::clone(config)));
        played.verbose.extend(slice.notices.iter().filter_map(verbose_row));
        // The journal is in completion order; sort by request order.
        let request = |entry: &JournalEntry| entry.request.clone().and_then(|request| serde_json::from_value::<Request>(request).ok());
        let mut calls: Vec<_> =
            journal.entries.iter().filter_map(|entry| Some((entry.effect, ScriptedCall::from_request(&request(entry)?)?))).collect();
        calls.sort_by_key(|it| it.0);
        played.scripted_calls.extend(calls.into_iter().map(|it| it.1));
        for entry in journal.entries {
            if let Some(Request::Llm(request)) = request(&entry) {
                played.llm.push(llm_call_json(&request, &entry.outcome));
            }
        }
    }
    let sql = "select intent_code, state_code from ce_llm_call_log where cast(conversation_id as text) = $1 order by llm_call_id";
    let logged = query_texts(pool, sql, id).await?;
    let cell = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten();
    let logged: Vec<(String, String)> =
        logged.iter().map(|row| (cell(row, 0).unwrap_or_default(), cell(row, 1).unwrap_or_default())).collect();
    add_intent_and_state(&mut played.llm, logged.iter().skip(counts.calls).map(|row| (row.0.as_str(), row.1.as_str())));
    counts.calls = logged.len();
    Ok(())
}

/// Reads the conversation's row and history.
async fn read_conversation_rows(pool: &Pool, id: &str, played: &mut PlayedTurn) -> Result<()> {
    let cell = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten();
    let sql = "select status, intent_code, state_code, cast(context_json as text), last_user_text, cast(last_assistant_json as text), \
        cast(input_params_json as text) from ce_conversation where cast(conversation_id as text) = $1";
    if let Some(row) = query_texts(pool, sql, id).await?.first() {
        let text = |at: usize| cell(row, at);
        let parsed = |at: usize| text(at).and_then(|text| serde_json::from_str::<Value>(&text).ok());
        played.conversation = json!({
            "conversation_id": id, "status": text(0), "intent_code": text(1), "state_code": text(2), "context_json": parsed(3),
            "last_user_text": text(4), "last_assistant_json": parsed(5), "input_params_json": parsed(6),
        });
    }
    let sql = "select user_input, cast(assistant_output as text) from ce_conversation_history \
        where cast(conversation_id as text) = $1 order by history_id";
    for row in query_texts(pool, sql, id).await? {
        played.history.push(json!({"conversation_id": id, "user_input": cell(&row, 0), "assistant_output": cell(&row, 1)}));
    }
    Ok(())
}

/// Runs a query for a conversation and returns all columns as text. The statement must be valid in both dialects.
async fn query_texts(pool: &Pool, sql: &'static str, id: &str) -> sqlx::Result<Vec<Vec<Option<String>>>> {
    macro_rules! of {
        ($pool:expr) => {{
            let rows = sqlx::query(sql).bind(id).fetch_all($pool).await?;
            rows.iter().map(|row| (0..row.len()).map(|at| row.try_get(at)).collect()).collect()
        }};
    }
    match pool {
        Pool::Sqlite(pool, _) => of!(&mut *pool.acquire().await?),
        Pool::Postgres(pool, _) => of!(&mut *pool.acquire().await?),
    }
}

/// Runs the SQL of a pack.
async fn run_admin_sql(pool: &Pool, sql: &str) -> sqlx::Result<()> {
    let sql = AssertSqlSafe(sql.to_owned());
    match pool {
        Pool::Sqlite(pool, _) => sqlx::query(sql).execute(&mut *pool.acquire().await?).await.map(drop),
        Pool::Postgres(pool, _) => sqlx::query(sql).execute(&mut *pool.acquire().await?).await.map(drop),
    }
}
