//! Plays packs and talks, for `convengine test` and the project's own test runners.
//!
//! A pack of plain messages runs in the core. A pack with SQL between its turns, another path, or a body that is not a message is
//! played over HTTP against this binary on a temporary database.

mod check;
mod core;
mod engine_process;
mod expect;
pub mod fake_http;
mod flow;
mod http;
mod junit;
mod known_differences;
mod local_services;
mod pack_import;
mod recording;
pub mod restate;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use convengine_core::json::diff::Difference;
use convengine_core::pack::Pack;

pub use self::check::failed_checks;
pub use self::core::{Checkpoint, CorePlayer, CoreTurn, Suspend};
pub use self::engine_process::{EngineCommand, EngineProcess, free_ports};
pub use self::expect::{PlayedTurn, differences, without_volatile};
pub use self::flow::{publish_requests, secret_names, session_id, session_request as of_session};
pub use self::http::HttpPlayer;
pub use self::known_differences::{KnownDifference, KnownDifferences};
pub use self::pack_import::import_pack;
pub use self::server::{PackServer, ServerOptions};

use convengine_host::api::mcp::{self, PlayReport};
use convengine_host::arguments::TestArguments;
use convengine_host::config::pack_file;

/// The result of a played turn.
#[derive(Debug, Clone)]
pub struct TurnReport {
    /// The turn, from 0.
    pub turn: usize,
    /// SHA-256 over its slices, when it ran in the core.
    pub hash: Option<String>,
    /// Differences that no decision explains.
    pub unexplained: Vec<Difference>,
    /// Decisions that explained differences, with counts.
    pub explained: BTreeMap<String, usize>,
    /// Whether an explained difference affects the reply itself, ignoring its context.
    pub is_reply_different: bool,
}

/// The result of a played pack.
#[derive(Debug, Clone, Default)]
pub struct PackReport {
    /// The pack's name.
    pub name: String,
    /// Its turns.
    pub turns: Vec<TurnReport>,
    /// Why it could not be played to the end.
    pub failure: Option<String>,
}

impl PackReport {
    /// Returns whether every turn is as expected.
    pub fn has_passed(&self) -> bool {
        self.failure.is_none() && self.turns.iter().all(|it| it.unexplained.is_empty())
    }
}

/// Runs `convengine test`: plays files and prints differences.
pub fn run_command(arguments: &TestArguments) -> ExitCode {
    match run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &TestArguments) -> Result<bool> {
    let mut explained = match &arguments.explained {
        Some(path) => KnownDifferences::parse(&read_file(path)?).with_context(|| path.display().to_string())?,
        None => KnownDifferences::default(),
    };
    let binary = std::env::current_exe().context("cannot determine the path of this executable")?;
    let mut reports = Vec::new();
    for path in &arguments.files {
        let report = match pack_file::read(path) {
            Ok(pack) => play(&pack, &binary, path, &mut explained),
            Err(error) => PackReport { name: path.display().to_string(), failure: Some(error.to_string()), ..PackReport::default() },
        };
        print_report(&report);
        reports.push(report);
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::render(&reports)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let passed = reports.iter().filter(|it| it.has_passed()).count();
    println!("{passed} passed, {} failed", reports.len() - passed);
    Ok(passed == reports.len())
}

fn read_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Plays a pack in the core if it has only plain messages, otherwise over HTTP.
pub fn play(pack: &Pack, binary: &Path, path: &Path, explained: &mut KnownDifferences) -> PackReport {
    let plain = (0..pack.turns.len()).all(|it| pack.message(it).is_some());
    let mut report = if plain { play_core(pack, Suspend::Never, explained) } else { play_http(pack, binary, path, explained) };
    for entry in explained.unused(&pack.name) {
        let line = format!("explanation for turn {} {} is unused; remove it", entry.turn, entry.field);
        report.failure.get_or_insert(line);
    }
    report
}

/// Plays a pack in the core.
pub fn play_core(pack: &Pack, suspend: Suspend, explained: &mut KnownDifferences) -> PackReport {
    let mut player = CorePlayer::new(pack, suspend);
    if let Some(issue) = player.issues.first().filter(|_| pack.flow_document().is_some()) {
        return PackReport { name: pack.name.clone(), failure: Some(issue.to_string()), ..PackReport::default() };
    }
    play_turns(pack, explained, |turn| player.play(turn).map(|it| (it.played, Some(it.hash))))
}

/// Plays a pack in the core for the tool `play`; asks whether to stop before each turn.
pub fn play_in_core(pack: &Pack, is_stopped: &dyn Fn() -> bool) -> PlayReport {
    if let Some(turn) = (0..pack.turns.len()).find(|it| pack.message(*it).is_none()) {
        let failure = format!("turn {turn} is not a plain message, which needs a server; play the pack with `convengine test`");
        return PlayReport { failure: Some(failure), ..PlayReport::default() };
    }
    let mut player = CorePlayer::new(pack, Suspend::Never);
    if let Some(issue) = player.issues.first().filter(|_| pack.flow_document().is_some()) {
        return PlayReport { failure: Some(issue.to_string()), ..PlayReport::default() };
    }
    let report = play_turns(pack, &mut KnownDifferences::default(), |turn| {
        ensure!(!is_stopped(), "stopped: it was canceled, or takes too long");
        player.play(turn).map(|it| (it.played, None))
    });
    let turn = |it: TurnReport| mcp::PlayedTurn { turn: it.turn, differences: it.unexplained };
    PlayReport { turns: report.turns.into_iter().map(turn).collect(), failure: report.failure }
}

/// Plays a pack over HTTP against a dedicated server.
pub fn play_http(pack: &Pack, binary: &Path, path: &Path, explained: &mut KnownDifferences) -> PackReport {
    play_http_with(pack, binary, path, &ServerOptions::default(), explained)
}

/// Like [`play_http`], with options.
pub fn play_http_with(pack: &Pack, binary: &Path, path: &Path, options: &ServerOptions, explained: &mut KnownDifferences) -> PackReport {
    match HttpPlayer::start_with(pack, binary, path, options) {
        Ok(mut player) => play_turns(pack, explained, |turn| player.play(turn).map(|it| (it, None))),
        Err(error) => PackReport { name: pack.name.clone(), failure: Some(format!("{error:#}")), ..PackReport::default() },
    }
}

fn play_turns(
    pack: &Pack,
    explained: &mut KnownDifferences,
    mut play: impl FnMut(usize) -> Result<(PlayedTurn, Option<String>)>,
) -> PackReport {
    let mut report = PackReport { name: pack.name.clone(), ..PackReport::default() };
    for (turn, of_pack) in pack.turns.iter().enumerate() {
        let (played, hash) = match play(turn) {
            Ok(it) => it,
            Err(error) => {
                report.failure = Some(format!("turn {turn}: {error:#}"));
                return report;
            }
        };
        let mut found = TurnReport { turn, hash, unexplained: Vec::new(), explained: BTreeMap::new(), is_reply_different: false };
        let expected = of_pack.expect.as_ref().map(|it| {
            let expect = without_volatile(it);
            let played = recording::with_recorded_id(&expect, pack, played.clone());
            let (expect, played) = recording::with_recorded_rows(expect, of_pack, played);
            differences(&expect, &played)
        });
        let expected = expected.unwrap_or_default();
        for difference in failed_checks(of_pack, &played).into_iter().chain(expected) {
            match explained.explain(&pack.name, turn, &difference) {
                Some(ruling) => {
                    *found.explained.entry(ruling.to_owned()).or_default() += 1;
                    found.is_reply_different |= is_reply_field(&difference.field);
                }
                None => found.unexplained.push(difference),
            }
        }
        report.turns.push(found);
    }
    report
}

/// Returns whether a field is part of the reply: payload, intent, state or error code.
fn is_reply_field(field: &str) -> bool {
    field == "status"
        || ["json.payload", "json.intent", "json.state", "json.success", "json.errorCode"].iter().any(|it| field.starts_with(it))
}

fn print_report(report: &PackReport) {
    println!("{} {}", if report.has_passed() { "ok    " } else { "FAILED" }, report.name);
    for turn in &report.turns {
        println!("  turn {} {}", turn.turn, turn.hash.as_deref().unwrap_or("over HTTP"));
        for (ruling, count) in &turn.explained {
            println!("    explained {count}: {ruling}");
        }
        for it in &turn.unexplained {
            let side = |value: &Option<serde_json::Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            println!("    {}\n      expected {}\n      but got  {}", it.field, side(&it.left), side(&it.right));
        }
    }
    if let Some(failure) = &report.failure {
        println!("    {failure}");
    }
}
