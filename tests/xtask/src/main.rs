//! The developer commands of the workspace, called as `cargo xtask COMMAND`.

mod bench;
mod budget;
mod build;
mod build_tools;
mod client_packages;
mod compress;
mod deny;
mod dist;
mod docs;
mod fixtures;
mod install;
mod mcp;
mod npm;
mod page;
mod postgres;
mod project;
mod python;
mod python_packages;
mod restate;
mod run;
mod sh;
mod shuffle;
mod size;
mod soak;
mod suites;
mod teeth;
mod test;
mod test_run;
mod texts;
mod turns_run;
mod wasm;

use std::process::ExitCode;

use crate::project::Project;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [-- OPTIONS]  builds everything and starts the server with the demo; OPTIONS are passed to `convengine serve`
  test              runs all checks and tests: on SQLite, on a temporary PostgreSQL, and in the browser
  mcp               tests the built server with independent clients of the Model Context Protocol and its conformance kit
  ready             runs the checks and tests that need neither the browser engine nor the page
  shuffle [SEED]    runs the suite three times in random order, or once in the order of a seed, without the browser
  postgres -- COMMAND
                    runs a command beside a temporary PostgreSQL, for example: cargo xtask postgres -- cargo test NAME
  wasm              builds the browser engine
  python            builds the Python interpreter of script nodes
  page              builds the browser engine, the Python interpreter and the page
  npm               builds the browser engine as an npm package, into target/npm
  dist [TARGET…]    makes what people install, into target/dist: archives, packages of Debian, Python and npm, and a container image, with
                    checksums, licences and a bill of materials; for this machine, or for the targets x86_64-unknown-linux-gnu
                    and aarch64-unknown-linux-gnu
  extension         builds the example extension
  deny              checks licences, sources and known vulnerabilities of the dependencies
  teeth             mutation tests: changes every expectation of the corpus, one at a time (--leaves), and breaks a copy of the
                    sources in one place at a time (--builds [NAME…]); each time a test must fail
  size              builds the page as it is published, and compares sizes with tests/budget.txt; also that of the server, if
                    there is a release build
  restate [--nodes N] [--workers N] [--servers N]
                    runs the demo on a Restate cluster: its nodes, workers and API processes, on loopback
  fixtures VERSION  writes what this release stores into tests/fixtures; every later build opens and replays it
  docs              generates the pages of docs/reference that come from the code; a test compares them
  texts             lists every text that users see, with file and line
  soak [crash | load | runs | background | size | storm | streams | restate | corpus | clients | fuzz]
                    long tests. crash: a server killed at every point of a turn; load: five packs on both databases, memory, and
                    a PostgreSQL outage; runs: runs of chains, and 10,000 asleep; background: users' turns beside timers, chains, indexing
                    and a lost database; size: bytes per turn; storm: one of three servers
                    killed while 900 turns run, and an hour of load with kills; streams: 5,000 open streams; restate: a cluster
                    whose processes are killed for 20 minutes, with a node added and one removed; corpus: all packs on a cluster,
                    compared with the database; clients: the acceptance list of clients in all ways; fuzz: ten minutes per target; without
                    an argument, all of them
  bench [turns]     measures whole turns of the server, compared with a server without a core, then its parts and the page; turns:
                    only whole turns (--quick: shorter, --counts: without timings, --against COMMIT|FILE: an older server, too,
                    --sqlite or --postgres: on one database)
  bench runtimes [--seconds N] [--connections N]
                    measures turns on SQLite, on PostgreSQL and on Restate, side by side, with one server and with three

Missing tools are installed if possible.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let command: fn(&Project, &[&str]) -> anyhow::Result<()> = match words.as_slice() {
        ["run"] | ["run", "--", ..] => |project, words| run::run(project, words.get(2..).unwrap_or(&[])),
        ["test"] => |project, _| test::run_all(project),
        ["ready"] => |project, _| test::run_ready(project),
        ["postgres", "--", _, ..] => |project, words| test::run_with_postgres(project, words.get(2..).unwrap_or(&[])),
        ["wasm"] => |project, _| wasm::build(project, wasm::Purpose::Release),
        ["python"] => |project, _| python::build(project),
        ["page"] => |project, _| page::build(project),
        ["npm"] => |project, _| npm::build(project),
        ["dist", ..] => |project, words| dist::make(project, words.get(1..).unwrap_or(&[])),
        ["extension"] => |project, _| wasm::build_extension(project),
        ["bench", ..] => |project, words| bench::run(project, words.get(1..).unwrap_or(&[])),
        ["teeth"] => |project, _| teeth::check_expectations(project).and_then(|()| teeth::check_sabotages(project, &[])),
        ["teeth", "--leaves"] => |project, _| teeth::check_expectations(project),
        ["teeth", "--builds", ..] => |project, words| teeth::check_sabotages(project, words.get(2..).unwrap_or(&[])),
        ["soak", ..] => |project, words| soak::run(project, words.get(1..).unwrap_or(&[])),
        ["deny"] => |project, _| deny::check(project),
        ["size"] => |project, _| size::check_all(project),
        ["restate", ..] => |project, words| restate::run(project, words.get(1..).unwrap_or(&[])),
        ["fixtures", _] => |project, words| fixtures::make(project, words.get(1).unwrap_or(&"")),
        ["shuffle"] => |project, _| shuffle::run(project, None),
        ["shuffle", _] => |project, words| shuffle::run(project, words.get(1).copied()),
        ["docs"] => |project, _| docs::generate(project),
        ["texts"] => |project, _| texts::print(project),
        ["mcp"] => |project, _| test::run_clients(project),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match Project::find().and_then(|project| command(&project, &words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
