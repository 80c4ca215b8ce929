//! A server that is killed at every point at which a turn may be left behind, and what its successor makes of that.
//!
//! A pack is talked once undisturbed. Then, for each crossing of a crash point, it is talked again with a server that dies there as
//! `kill -9` kills: the client sends the message again under its `Idempotency-Key`, on SQLite to a new process on the same file, on
//! PostgreSQL to one of two others that have been there all along.

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
use convengine_server::pack_file;
use convengine_server::play::fake_http::{CallRecorder, serve_recorded};
use convengine_server::play::{of_session, secret_names, session_id};
use convengine_server::store::{DatabaseConfig, open_reader_pool};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use uuid::Uuid;

use super::database::{Database, Kind};
use super::doubt::{EffectOf, unanswered};
use super::left::{Alike, Left, Said, masked};
use crate::root;

/// The packs whose servers die: models in every turn, tasks, tools of every kind, services that write, a summary.
pub const PACKS: [&str; 15] = [
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
];

/// With which the rows of these packs speak themselves of a call that nobody knows the fate of.
const OWN_WORDS: [(&str, &str); 4] = [
    ("demo/card_replacement", "I could not confirm that your card was blocked and replaced."),
    ("tools/writes_in_doubt", "ERROR the server stopped before the answer was known"),
    ("tools/workflow_and_notification", "status=ERROR"),
    ("pipeline/action_executed_opens_again_for_a_rule", "[FAILED/FAILED]"),
];

/// How long a message may go without its answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long an open turn belongs to a process that may be dead.
const LEASE: &str = "convengine.turn.lease=1s";

/// What became of one pack on one database.
#[derive(Debug, Default)]
pub struct Found {
    /// The pack.
    pub pack: String,
    /// Points that were crossed in the undisturbed run.
    pub crossings: u32,
    /// Servers that were killed.
    pub kills: u32,
    /// Runs that ended as the undisturbed one.
    pub equal: u32,
    /// The points of runs in which a write was in doubt, and was not sent again.
    pub in_doubt: Vec<u32>,
    /// What must not be.
    pub violations: Vec<String>,
}

/// Kills a server of the pack at every `every`th point, beginning with the `first`th.
///
/// # Errors
/// When the undisturbed run does not work.
pub fn run(binary: &Path, kind: &Kind, name: &str, first: u32, every: u32) -> Result<Found> {
    let stage = Stage::of(binary, kind, name)?;
    let (whole, crossings) = stage.undisturbed()?;
    let mut found = Found { pack: name.to_owned(), crossings, ..Found::default() };
    let own_words = OWN_WORDS.iter().find(|it| it.0 == name).map(|it| it.1);
    let mut at = first;
    while at <= crossings {
        found.kills += 1;
        match stage.talk(Some(at)).and_then(|left| left.compared(&whole, own_words)) {
            Ok(Alike::Equal) => found.equal += 1,
            Ok(Alike::InDoubt) => found.in_doubt.push(at),
            Err(error) => found.violations.push(format!("{name} killed at {at}: {error:#}")),
        }
        at += every;
    }
    Ok(found)
}

/// A pack with its services and an imported database to begin from.
struct Stage {
    binary: PathBuf,
    kind: Kind,
    pack: Pack,
    model: PathBuf,
    stub: Option<SocketAddr>,
    calls: CallRecorder,
    runtime: Runtime,
    imported: Database,
    folder: PathBuf,
}

impl Stage {
    fn of(binary: &Path, kind: &Kind, name: &str) -> Result<Stage> {
        let folder = std::env::temp_dir().join(format!("convengine-crash-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder)?;
        let path = root().join("tests/packs").join(name);
        let path = if name.ends_with(".talk") { path } else { path.with_extension("json") };
        let text = pack_file::read_text(&path).map_err(|it| anyhow::anyhow!("{it}"))?;
        let rules = Pack::parse(&text).context("the pack")?.http;
        let (runtime, calls) = (Runtime::new()?, CallRecorder::default());
        let stub = if rules.is_empty() { None } else { Some(serve_recorded(&runtime, rules, calls.clone())?) };
        let text = stub.map_or(text.clone(), |it| text.replace(STUB_ADDRESS, &format!("http://{it}")));
        let file = folder.join("pack.json");
        std::fs::write(&file, &text)?;
        let model = folder.join("model.json");
        // The clock of a talk would be another one after a server's death, and the timers of sessions run by it.
        let rules = serde_json::from_str::<Value>(&text)?["llm"].take();
        std::fs::write(&model, if name.ends_with(".talk") && rules.is_array() { rules.to_string() } else { text.clone() })?;
        let imported = kind.database()?;
        for arguments in [vec!["migrate".as_ref()], vec!["import".as_ref(), file.as_os_str()]] {
            let output = Command::new(binary).args(&arguments).args(["--database", imported.url()]).output()?;
            ensure!(output.status.success(), "the pack cannot be imported: {}", String::from_utf8_lossy(&output.stderr));
        }
        let pack = Pack::parse(&text).context("the pack")?;
        Ok(Stage { binary: binary.to_owned(), kind: kind.clone(), pack, model, stub, calls, runtime, imported, folder })
    }

    /// What the pack leaves when nothing happens, and how many points it crosses.
    fn undisturbed(&self) -> Result<(Left, u32)> {
        let left = self.talk(None)?;
        let log = std::fs::read_to_string(self.folder.join("crossings"))?;
        let crossings = log.lines().filter(|it| it.starts_with("crash point ")).count();
        Ok((left, u32::try_from(crossings)?))
    }

    /// Talks the pack on a copy of the imported database; the first server dies at a point, or says which points it crosses.
    fn talk(&self, dies_at: Option<u32>) -> Result<Left> {
        let database = self.imported.copy()?;
        self.calls.clear();
        let mut servers = Servers { stage: self, url: database.url().to_owned(), alive: Vec::new(), dead: 0, unanswered: BTreeSet::new() };
        servers.start(dies_at, true)?;
        if matches!(self.kind, Kind::Postgres(_)) && dies_at.is_some() {
            servers.start(None, false)?;
            servers.start(None, false)?;
        }
        let client = convengine_server::tls::client_for("http:").build()?;
        let mut said = Vec::new();
        for (number, turn) in self.pack.turns.iter().enumerate() {
            let Some(request) = &turn.request else { bail!("the pack has a turn that is no message") };
            let mut request = of_session(request, turn.conversation.as_deref()).unwrap_or_else(|| request.clone());
            // Events of sessions have their name within them.
            if let (true, Some(event)) = (request.path.starts_with("/v1/"), request.body.as_object_mut()) {
                event.insert("event_id".to_owned(), json!(format!("message-{number}")));
            }
            let until = Instant::now() + PATIENCE;
            let (status, body) = loop {
                ensure!(Instant::now() < until, "message {number} has no answer");
                let at = format!("{}{}", servers.address(number)?, request.path);
                let sent = client
                    .post(&at)
                    .header("Content-Type", "application/json")
                    .header("Idempotency-Key", format!("message-{number}"))
                    .body(request.body.to_string());
                let answered = self.runtime.block_on(async {
                    let response = sent.send().await?;
                    Ok::<_, anyhow::Error>((response.status().as_u16(), response.text().await?))
                });
                match answered {
                    Ok((503, _)) => std::thread::yield_now(),
                    Ok(answer) => break answer,
                    Err(_) => servers.mourn()?,
                }
            };
            let answer = json!({"status": status, "body": serde_json::from_str::<Value>(&body).unwrap_or(Value::Null)});
            said.push(Said { conversation: conversation_of(turn)?, answer: masked(&answer) });
        }
        ensure!(dies_at.is_none() || servers.dead == 1, "no server died");
        let unanswered = std::mem::take(&mut servers.unanswered);
        let left = self.runtime.block_on(Left::of(database.url(), said, self.calls.all(), unanswered))?;
        drop(servers);
        Ok(left)
    }

    /// What the database knows to have left without an answer.
    fn unanswered(&self, url: &str) -> Result<BTreeSet<EffectOf>> {
        let conversations = self.pack.turns.iter().map(conversation_of).collect::<Result<BTreeSet<String>>>()?;
        self.runtime.block_on(async {
            let place = DatabaseConfig { url: url.to_owned(), full_sync: false };
            let pool = open_reader_pool(&place).await.map_err(|it| anyhow!("{it}"))?;
            let found = unanswered(&pool, &conversations).await;
            pool.close().await;
            found
        })
    }

    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", url, "--set", LEASE]);
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

fn conversation_of(turn: &PackTurn) -> Result<String> {
    if turn.request.as_ref().is_some_and(|it| it.path.starts_with("/v1/")) {
        return Ok(session_id(turn.conversation.as_deref()));
    }
    let id = turn.request.as_ref().and_then(|it| it.body.get("conversationId")).and_then(Value::as_str);
    Ok(id.context("a message without a conversation")?.to_lowercase())
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It is temporary: what cannot be removed now goes with the system's own cleaning.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The processes of one run.
struct Servers<'s> {
    stage: &'s Stage,
    url: String,
    alive: Vec<(Child, String)>,
    dead: usize,
    unanswered: BTreeSet<EffectOf>,
}

impl Servers<'_> {
    fn start(&mut self, dies_at: Option<u32>, first: bool) -> Result<()> {
        let mut command = self.stage.command(&self.url);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        match dies_at {
            Some(at) => _ = command.env("CONVENGINE_CRASH_AT", at.to_string()),
            None if first => {
                command.env("CONVENGINE_CRASH_LOG", "1").stderr(File::create(self.stage.folder.join("crossings"))?);
            }
            None => {}
        }
        let mut process = command.spawn().context("the server cannot be started")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("convengine listening on ").with_context(|| format!("the server said '{}'", line.trim()))?;
        self.alive.push((process, address.to_owned()));
        Ok(())
    }

    /// Where a message goes: to the one that will die until it has, then to the others in turns.
    fn address(&self, message: usize) -> Result<&str> {
        let at = if self.dead == 0 { 0 } else { message % self.alive.len().max(1) };
        Ok(&self.alive.get(at).context("no server is left")?.1)
    }

    /// Waits for the end of the one that died, and starts another where none is left.
    fn mourn(&mut self) -> Result<()> {
        let (mut process, _) = self.alive.remove(0);
        let status = process.wait()?;
        ensure!(!status.success() && status.code().is_none(), "a server ended by itself with {status}");
        self.dead += 1;
        // Nobody has looked at the turn yet: on SQLite nobody is there, on PostgreSQL the lease of the dead one has not ended.
        self.unanswered = self.stage.unanswered(&self.url)?;
        ensure!(self.dead == 1, "another server died, too");
        if self.alive.is_empty() { self.start(None, false) } else { Ok(()) }
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        for (process, _) in &mut self.alive {
            // They are ours, and their database goes with them.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
