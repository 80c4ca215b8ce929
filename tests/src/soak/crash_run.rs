//! Crash tests of a run of a chain: its server is killed at every point, and the run ends as if it had not been.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use convengine_host_base::pack_file;
use convengine_host_base::tls::client_for;
use serde_json::{Value, json};

use super::crash::{CrashFixture, CrashReport, MESSAGE_TIMEOUT, Servers};
use super::database::DatabaseKind;
use super::final_state::{AnsweredMessage, Comparison, FinalState, mask};
use crate::root;

/// The pack: an assistant asks, an agent assesses, a person approves, a service books, the customer is notified and reminded.
pub const PACK: &str = "chain/claim";

/// The path of its runs.
const PATH: &str = "/v1/workflow-chains/claims";

/// What the customer says to the assistant.
const TEXTS: [&str; 3] = ["P-1", "1200", "DE02120300000000202051"];

/// What the service receives at this path is an e-mail.
const EMAIL_PATH: &str = "/notify/email";

/// Kills a server of the run at every `every`-th crash point, beginning with point `first`.
///
/// # Errors
/// If the undisturbed run fails.
pub fn run(binary: &Path, kind: &DatabaseKind, first: u32, every: u32) -> Result<CrashReport> {
    let fixture = CrashFixture::with_text(binary, kind, &read_pack()?, false)?;
    let baseline = play(&fixture, None)?;
    let crossings = fixture.count_crossings()?;
    let mut found = CrashReport { pack: PACK.to_owned(), crossings, ..CrashReport::default() };
    for at in (first..=crossings).step_by(usize::try_from(every)?) {
        found.kills += 1;
        match play(&fixture, Some(at)).and_then(|left| left.compare_run(&baseline)) {
            Ok(Comparison::Equal) => found.equal += 1,
            Ok(Comparison::InDoubt) => found.in_doubt.push(at),
            Err(error) => found.violations.push(format!("the run killed at {at}: {error:#}")),
        }
    }
    Ok(found)
}

/// The pack with a model, an address for e-mails and a short pause.
fn read_pack() -> Result<String> {
    let text = pack_file::read_text(&root().join("tests/packs").join(PACK).with_extension("json")).map_err(|it| anyhow::anyhow!("{it}"))?;
    let mut pack: Value = serde_json::from_str(&text)?;
    pack["llm"] = json!([{"purpose": "agent", "reply": "The damage is covered."}]);
    pack["settings"] =
        json!({"notify": {"email": {"url": format!("{}{EMAIL_PATH}", convengine_core::turn::STUB_ADDRESS)}}, "chains": {"lease": "1s"}});
    let pause = pack.pointer_mut("/documents/0/steps/4/config/after_ms").context("the chain has no pause")?;
    *pause = json!(200);
    Ok(pack.to_string())
}

/// Plays the run on a copy of the database. The first server dies at crash point `dies_at`.
fn play(fixture: &CrashFixture, dies_at: Option<u32>) -> Result<FinalState> {
    let database = fixture.imported.copy()?;
    fixture.calls.clear();
    let mut servers = Servers::new(fixture, database.url());
    servers.start_all(dies_at)?;
    let client = RunClient { fixture, until: Instant::now() + MESSAGE_TIMEOUT };
    let input = json!({"input": {"text": "A tree fell on my car", "email": "mia@example.org"}});
    let started = client.call(&mut servers, "POST", &format!("{PATH}/run"), "run", &input)?;
    let id = started["run_id"].as_str().context("no run")?.to_owned();
    let path = format!("{PATH}/runs/{id}");
    let resume = format!("{path}/resume");
    for (number, text) in TEXTS.iter().enumerate() {
        client.call(&mut servers, "POST", &resume, &format!("text-{number}"), &json!({"text": text}))?;
    }
    let decision = json!({"step": "route/approve/ask", "decision": "pay", "fields": {"amount": 1100}, "by": "Jo"});
    client.call(&mut servers, "POST", &resume, "decision", &decision)?;
    let ended = loop {
        let run = client.call(&mut servers, "GET", &path, "", &Value::Null)?;
        if ["succeeded", "failed", "cancelled"].iter().any(|it| run["status"] == *it) {
            break run;
        }
        ensure!(Instant::now() < client.until, "the run is {run}");
    };
    ensure!(dies_at.is_none() || servers.dead_count == 1, "no server died");
    let unanswered = std::mem::take(&mut servers.unanswered);
    let answered = vec![AnsweredMessage { conversation: id.clone(), answer: mask(&json!({"body": ended})) }];
    let mut left = fixture.runtime.block_on(FinalState::read(database.url(), answered, fixture.calls.all(), unanswered))?;
    left.rename(&id, "RUN")?;
    Ok(left)
}

/// Who starts the run and answers its waits.
struct RunClient<'f> {
    fixture: &'f CrashFixture,
    until: Instant,
}

impl RunClient<'_> {
    /// Calls a server until one answers: another one when it is killed, again while the run does not wait yet.
    fn call(&self, servers: &mut Servers<'_>, method: &str, path: &str, key: &str, body: &Value) -> Result<Value> {
        loop {
            ensure!(Instant::now() < self.until, "{method} {path} was not answered");
            let url = format!("{}{path}", servers.address_for(0)?);
            let mut call = client_for("http:").build()?.request(method.parse()?, url);
            if !body.is_null() {
                call = call.header("Content-Type", "application/json").header("Idempotency-Key", key).body(body.to_string());
            }
            let answered = self.fixture.runtime.block_on(async {
                let response = call.send().await?;
                Ok::<_, anyhow::Error>((response.status().as_u16(), response.text().await?))
            });
            let Ok((status, text)) = answered else {
                servers.replace_killed_server()?;
                continue;
            };
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            match status {
                200..=299 => return Ok(answer),
                503 => std::thread::yield_now(),
                409 if answer["error"]["code"] == "not_waiting" => std::thread::yield_now(),
                _ => bail!("{method} {path} answers {status} {text}"),
            }
        }
    }
}
