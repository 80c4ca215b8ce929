//! Crash tests: kills a server at every point at which a turn may be interrupted, and checks how another server recovers the turn.
//!
//! A pack's conversation is run once undisturbed. Then, for each crossing of a crash point, it is run again with a server that is killed
//! there as by `kill -9`. The client retries the message with its `Idempotency-Key`: on SQLite with a new process on the same file, on
//! PostgreSQL with one of two other servers that were running before.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use convengine_core::pack::{Pack, PackTurn};
use convengine_core::turn::STUB_ADDRESS;
use convengine_host_base::pack_file;
use convengine_host_base::tls::client_for;
use convengine_player::fake_http::{CallRecorder, serve_recorded};
use convengine_player::{import_pack, of_session, publish_requests, secret_names, session_id};
use convengine_storage::{DatabaseConfig, open_reader_pool};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::crash_run;
use super::database::{Database, DatabaseKind};
use super::doubt::{EffectRef, find_open_conversations, find_unanswered};
use super::final_state::{AnsweredMessage, Comparison, FinalState, mask};
use crate::root;

/// The packs of the crash tests: models in every turn, tasks, tools of every kind, services that write, a summary.
pub const PACKS: [&str; 22] = [
    "demo/help_desk",
    "demo/model_acts",
    "demo/loan",
    "demo/card_replacement",
    "tools/writes_in_doubt",
    "tools/workflow_and_notification",
    "tools/calculator",
    "tools/document_search",
    "pipeline/action_executed_opens_again_for_a_rule",
    "pipeline/memory_by_a_model",
    "flow/service_outputs.talk",
    "flow/entity_interrupt_resume.talk",
    "flow/failure_ports.talk",
    "flow/no_input_graph.talk",
    "flow/subflow_call_return_exit_port.talk",
    "flow/handoff_relay_return.talk",
    "flow/handoff_unavailable.talk",
    "flow/helpdesk.talk",
    "flow/python_scripts.talk",
    "workflow/support_survey.talk",
    "agent/approval.talk",
    crash_run::PACK,
];

/// Texts with which the rows of these packs report a call in doubt.
const DOUBT_TEXTS: [(&str, &str); 4] = [
    ("demo/card_replacement", "I could not confirm that your card was blocked and replaced."),
    ("tools/writes_in_doubt", "ERROR the server stopped before the answer was known"),
    ("tools/workflow_and_notification", "status=ERROR"),
    ("pipeline/action_executed_opens_again_for_a_rule", "[FAILED/FAILED]"),
];

/// What asks for the time in a pack whose texts name the hour, and a time in its place: a run and its undisturbed run may be of two hours.
const HOURS: [(&str, &str, &str); 1] =
    [("flow/helpdesk.talk", "datetime.fromisoformat(now[:19])", "datetime.fromisoformat('2026-01-01T09:00:00')")];

/// The timeout of a message, retries included.
pub(super) const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The setting of the lease of open turns.
const LEASE_SETTING: &str = "convengine.turn.lease=1s";

/// The results of one pack on one database.
#[derive(Debug, Default)]
pub struct CrashReport {
    /// The pack.
    pub pack: String,
    /// The number of crash points that the undisturbed run crosses.
    pub crossings: u32,
    /// The number of killed servers.
    pub kills: u32,
    /// The number of runs that ended like the undisturbed one.
    pub equal: u32,
    /// The crash points after which a write was in doubt, and was not repeated.
    pub in_doubt: Vec<u32>,
    /// All violations.
    pub violations: Vec<String>,
}

/// Kills a server of the pack at every `every`-th crash point, beginning with point `first`.
///
/// # Errors
/// If the undisturbed run fails.
pub fn run(binary: &Path, kind: &DatabaseKind, name: &str, first: u32, every: u32) -> Result<CrashReport> {
    if name == crash_run::PACK {
        return crash_run::run(binary, kind, first, every);
    }
    let fixture = CrashFixture::new(binary, kind, name)?;
    let (baseline, crossings) = fixture.run_undisturbed()?;
    let mut found = CrashReport { pack: name.to_owned(), crossings, ..CrashReport::default() };
    let own_words = DOUBT_TEXTS.iter().find(|it| it.0 == name).map(|it| it.1);
    let mut at = first;
    while at <= crossings {
        found.kills += 1;
        match fixture.run_conversation(Some(at)).and_then(|left| left.compare(&baseline, own_words)) {
            Ok(Comparison::Equal) => found.equal += 1,
            Ok(Comparison::InDoubt) => found.in_doubt.push(at),
            Err(error) => found.violations.push(format!("{name} killed at {at}: {error:#}")),
        }
        at += every;
    }
    Ok(found)
}

/// A pack with its services and an imported database.
pub(super) struct CrashFixture {
    binary: PathBuf,
    kind: DatabaseKind,
    pack: Pack,
    model: PathBuf,
    stub: Option<SocketAddr>,
    pub calls: CallRecorder,
    pub runtime: Runtime,
    pub imported: Database,
    folder: PathBuf,
}

impl CrashFixture {
    fn new(binary: &Path, kind: &DatabaseKind, name: &str) -> Result<CrashFixture> {
        let path = root().join("tests/packs").join(name);
        let path = if name.ends_with(".talk") { path } else { path.with_extension("json") };
        let mut text = pack_file::read_text(&path).map_err(|it| anyhow!("{it}"))?;
        for (_, clock, time) in HOURS.iter().filter(|it| it.0 == name) {
            ensure!(text.contains(clock), "{name} has no '{clock}'");
            text = text.replace(clock, time);
        }
        CrashFixture::with_text(binary, kind, &text, name.ends_with(".talk"))
    }

    /// Prepares a pack as text. Of a talk, only the rules of the model are used.
    pub(super) fn with_text(binary: &Path, kind: &DatabaseKind, text: &str, is_talk: bool) -> Result<CrashFixture> {
        let folder = std::env::temp_dir().join(format!("convengine-crash-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let rules = Pack::parse(text).context("the pack")?.http;
        let (runtime, calls) = (Runtime::new()?, CallRecorder::default());
        let stub = if rules.is_empty() { None } else { Some(serve_recorded(&runtime, rules, calls.clone())?) };
        let text = stub.map_or(text.to_owned(), |address| text.replace(STUB_ADDRESS, &format!("http://{address}")));
        let file = folder.join("pack.json");
        std::fs::write(&file, &text)?;
        let model = folder.join("model.json");
        // The clock of a talk controls the timers of sessions and would restart with the server, so only the talk's model rules are used.
        let rules = serde_json::from_str::<Value>(&text)?["llm"].take();
        std::fs::write(&model, if is_talk && rules.is_array() { rules.to_string() } else { text.clone() })?;
        let imported = kind.create_database()?;
        import_pack(&runtime, &file, imported.url()).context("cannot import the pack")?;
        let pack = Pack::parse(&text).context("the pack")?;
        let fixture = CrashFixture { binary: binary.to_owned(), kind: kind.clone(), pack, model, stub, calls, runtime, imported, folder };
        fixture.publish_documents()?;
        Ok(fixture)
    }

    /// Publishes what the pack's first document runs, in the imported database.
    fn publish_documents(&self) -> Result<()> {
        let requests = publish_requests(&self.pack);
        if requests.is_empty() {
            return Ok(());
        }
        let mut servers = Servers::new(self, self.imported.url());
        servers.start(None, false)?;
        let client = client_for("http:").build()?;
        for request in requests {
            let url = format!("{}{}", servers.address_for(0)?, request.path);
            let call = client.post(url).header("Content-Type", "application/json").body(request.body.to_string());
            let (status, text) = self.runtime.block_on(async {
                let response = call.send().await?;
                Ok::<_, anyhow::Error>((response.status().as_u16(), response.text().await?))
            })?;
            ensure!(status == 201, "{} answers {status} {text}", request.path);
        }
        Ok(())
    }

    /// Runs the pack without a crash; returns the final state and the number of crash points that it crosses.
    fn run_undisturbed(&self) -> Result<(FinalState, u32)> {
        let left = self.run_conversation(None)?;
        Ok((left, self.count_crossings()?))
    }

    /// The number of crash points that the undisturbed server has crossed.
    pub(super) fn count_crossings(&self) -> Result<u32> {
        let log = std::fs::read_to_string(self.folder.join("crossings"))?;
        let crossings = log.lines().filter(|it| it.starts_with("crash point ")).count();
        Ok(u32::try_from(crossings)?)
    }

    /// Runs the pack's conversation on a copy of the imported database. The first server dies at crash point `dies_at`, or logs the points
    /// that it crosses.
    fn run_conversation(&self, dies_at: Option<u32>) -> Result<FinalState> {
        let database = self.imported.copy()?;
        self.calls.clear();
        let mut servers = Servers::new(self, database.url());
        servers.start_all(dies_at)?;
        let client = client_for("http:").build()?;
        let mut answers = Vec::new();
        for (number, turn) in self.pack.turns.iter().enumerate() {
            let Some(request) = &turn.request else { bail!("the pack has a turn that is not a message") };
            let mut request = of_session(request, turn.conversation.as_deref()).unwrap_or_else(|| request.clone());
            // The idempotency key of a session's event is its `event_id`.
            if let (true, Some(event)) = (request.path.starts_with("/v1/"), request.body.as_object_mut()) {
                event.insert("event_id".to_owned(), json!(format!("message-{number}")));
            }
            let until = Instant::now() + MESSAGE_TIMEOUT;
            let (status, body) = loop {
                ensure!(Instant::now() < until, "message {number} was not answered");
                let url = format!("{}{}", servers.address_for(number)?, request.path);
                let call = client
                    .post(&url)
                    .header("Content-Type", "application/json")
                    .header("Idempotency-Key", format!("message-{number}"))
                    .body(request.body.to_string());
                let answered = self.runtime.block_on(async {
                    let response = call.send().await?;
                    Ok::<_, anyhow::Error>((response.status().as_u16(), response.text().await?))
                });
                match answered {
                    Ok((503, _)) => std::thread::yield_now(),
                    Ok(answer) => break answer,
                    Err(_) => servers.replace_killed_server()?,
                }
            };
            let answer = json!({"status": status, "body": serde_json::from_str::<Value>(&body).unwrap_or(Value::Null)});
            answers.push(AnsweredMessage { conversation: conversation_id(turn)?, answer: mask(&answer) });
        }
        ensure!(dies_at.is_none() || servers.dead_count == 1, "no server died");
        let unanswered = std::mem::take(&mut servers.unanswered);
        let left = self.runtime.block_on(FinalState::read(database.url(), answers, self.calls.all(), unanswered))?;
        drop(servers);
        Ok(left)
    }

    /// Returns the effects that the database has as sent and unanswered.
    fn find_unanswered(&self, url: &str) -> Result<BTreeSet<EffectRef>> {
        let mut conversations = self.pack.turns.iter().map(conversation_id).collect::<Result<BTreeSet<String>>>()?;
        self.runtime.block_on(async {
            let place = DatabaseConfig { url: url.to_owned(), full_sync: false };
            let pool = open_reader_pool(&place).await.map_err(|it| anyhow!("{it}"))?;
            conversations.extend(find_open_conversations(&pool).await?);
            let found = find_unanswered(&pool, &conversations).await;
            pool.close().await;
            found
        })
    }

    fn server_command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", url, "--set", LEASE_SETTING]);
        command.arg("--llm").arg(format!("scripted:{}", self.model.display()));
        for (group, tree) in self.pack.settings.as_object().into_iter().flatten() {
            command.arg("--set").arg(format!("convengine.{group}={tree}"));
        }
        if let Some(stub) = self.stub {
            command.arg("--set").arg(format!("convengine.network.allow-private={stub}"));
        }
        for name in secret_names(&self.pack) {
            command.arg("--set").arg(format!("convengine.secrets.{name}=env:CRASH_SECRET")).env("CRASH_SECRET", "the-value-of-all-of-them");
        }
        command
    }
}

fn conversation_id(turn: &PackTurn) -> Result<String> {
    if turn.request.as_ref().is_some_and(|it| it.path.starts_with("/v1/")) {
        return Ok(session_id(turn.conversation.as_deref()));
    }
    let id = turn.request.as_ref().and_then(|it| it.body.get("conversationId")).and_then(Value::as_str);
    Ok(id.context("message without a conversation")?.to_lowercase())
}

impl Drop for CrashFixture {
    fn drop(&mut self) {
        // Best effort: the folder is below the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The processes of one run.
pub(super) struct Servers<'s> {
    fixture: &'s CrashFixture,
    url: String,
    alive: Vec<(Child, String)>,
    pub dead_count: usize,
    pub unanswered: BTreeSet<EffectRef>,
}

impl<'s> Servers<'s> {
    pub(super) fn new(fixture: &'s CrashFixture, url: &str) -> Servers<'s> {
        Servers { fixture, url: url.to_owned(), alive: Vec::new(), dead_count: 0, unanswered: BTreeSet::new() }
    }

    /// Starts the server that dies, and on PostgreSQL two others.
    pub(super) fn start_all(&mut self, dies_at: Option<u32>) -> Result<()> {
        self.start(dies_at, true)?;
        if matches!(self.fixture.kind, DatabaseKind::Postgres(_)) && dies_at.is_some() {
            self.start(None, false)?;
            self.start(None, false)?;
        }
        Ok(())
    }

    fn start(&mut self, dies_at: Option<u32>, first: bool) -> Result<()> {
        let mut command = self.fixture.server_command(&self.url);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        match dies_at {
            Some(at) => _ = command.env("CONVENGINE_CRASH_AT", at.to_string()),
            None if first => {
                command.env("CONVENGINE_CRASH_LOG", "1").stderr(File::create(self.fixture.folder.join("crossings"))?);
            }
            None => {}
        }
        let mut process = command.spawn().context("cannot start the server")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("convengine listening on ").with_context(|| format!("the server wrote '{}'", line.trim()))?;
        self.alive.push((process, address.to_owned()));
        Ok(())
    }

    /// Returns the server of a message: the one that will be killed until it is dead, then the others in rotation.
    pub(super) fn address_for(&self, message: usize) -> Result<&str> {
        let at = if self.dead_count == 0 { 0 } else { message % self.alive.len().max(1) };
        Ok(&self.alive.get(at).context("no server is left")?.1)
    }

    /// Waits for the end of the killed server, and starts another one if none is left.
    pub(super) fn replace_killed_server(&mut self) -> Result<()> {
        let (mut process, _) = self.alive.remove(0);
        let status = process.wait()?;
        ensure!(!status.success() && status.code().is_none(), "a server exited with {status}, not by a signal");
        self.dead_count += 1;
        // No server has recovered the turn yet: on SQLite none is running, on PostgreSQL the lease has not expired.
        self.unanswered = self.fixture.find_unanswered(&self.url)?;
        ensure!(self.dead_count == 1, "a second server died");
        if self.alive.is_empty() { self.start(None, false) } else { Ok(()) }
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for (process, _) in &mut self.alive {
            // Best effort: a process may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
