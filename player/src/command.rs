//! The command `convengine test`, and the choice between the core and HTTP.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use convengine_core::pack::Pack;
use convengine_host::arguments::TestArguments;
use convengine_host_base::{print_error_line, print_line};

use super::core::Suspend;
use super::http::HttpPlayer;
use super::known_differences::KnownDifferences;
use super::report::{PackReport, Played, play_core, play_turns};
use super::server::ServerOptions;
use super::{junit, read_pack};

/// Runs `convengine test`: plays files and prints differences.
pub fn run_command(arguments: &TestArguments) -> ExitCode {
    match run(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            print_error_line!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &TestArguments) -> Result<bool> {
    let explained = match &arguments.explained {
        Some(path) => KnownDifferences::parse(&read_rules(path)?).with_context(|| path.display().to_string())?,
        None => KnownDifferences::default(),
    };
    let program = std::env::current_exe().context("cannot determine the path of this executable")?;
    let options = ServerOptions { program: Some(program), ..ServerOptions::default() };
    let mut reports = Vec::new();
    for path in &arguments.files {
        let report = match read_pack(path) {
            Ok(pack) => play(&pack, &options, path, &explained),
            Err(error) => PackReport { name: path.display().to_string(), failure: Some(error.to_string()), ..PackReport::default() },
        };
        print_report(&report, arguments.trace);
        reports.push(report);
    }
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::render(&reports)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let passed = reports.iter().filter(|it| it.has_passed()).count();
    print_line!("{passed} passed, {} failed", reports.len() - passed);
    Ok(passed == reports.len())
}

/// Reads the rules of explained differences. Somebody who takes the file for an output names one from which reading would never end.
fn read_rules(path: &Path) -> Result<String> {
    let name = path.display();
    let is_output = ["/dev/stdout", "/dev/stderr", "/dev/tty"].iter().any(|it| path == Path::new(it));
    ensure!(!is_output, "--explained-by {name}: the file is read, not written; name a file with rules of explained differences");
    let mut file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    ensure!(!file.is_terminal(), "--explained-by {name}: is a terminal; name a file with rules of explained differences");
    let mut text = String::new();
    file.read_to_string(&mut text).with_context(|| format!("cannot read {name}"))?;
    Ok(text)
}

/// Plays a pack in the core if it has only plain messages, otherwise over HTTP against a server with these options.
pub fn play(pack: &Pack, options: &ServerOptions, path: &Path, explained: &KnownDifferences) -> PackReport {
    let plain = (0..pack.turns.len()).all(|turn| pack.message(turn).is_some());
    if plain { play_core(pack, Suspend::Never, explained) } else { play_http(pack, path, options, explained) }
}

/// Plays a pack over HTTP against a server of its own.
pub fn play_http(pack: &Pack, path: &Path, options: &ServerOptions, explained: &KnownDifferences) -> PackReport {
    match HttpPlayer::start(pack, path, options) {
        Ok(mut player) => play_turns(pack, explained, |turn| {
            let played = player.play(turn)?;
            Ok(Played { turn: played, hash: None, journals: player.take_journals() })
        }),
        Err(error) => PackReport { name: pack.name.clone(), failure: Some(format!("{error:#}")), ..PackReport::default() },
    }
}

fn print_report(report: &PackReport, with_trace: bool) {
    print_line!("{} {}", if report.has_passed() { "ok    " } else { "FAILED" }, report.name);
    for turn in &report.turns {
        print_line!("  turn {} {}", turn.turn, turn.hash.as_deref().unwrap_or("over HTTP"));
        for (ruling, count) in &turn.explained {
            print_line!("    explained {count}: {ruling}");
        }
        for difference in &turn.unexplained {
            let side = |value: &Option<serde_json::Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            print_line!("    {}\n      expected {}\n      but got  {}", difference.field, side(&difference.left), side(&difference.right));
        }
        if with_trace && !turn.trace.is_empty() {
            print_line!("    trace");
            turn.trace.iter().for_each(|line| print_line!("      {line}"));
        }
    }
    if let Some(failure) = &report.failure {
        print_line!("    {failure}");
    }
    if !with_trace && report.turns.iter().any(|it| !it.trace.is_empty()) {
        print_line!("  add --trace to see what the engine decided in the failed turns");
    }
}
