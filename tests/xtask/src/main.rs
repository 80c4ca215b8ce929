//! The developer commands of the workspace, called as `cargo xtask COMMAND`.

mod bench;
mod install;
mod npm;
mod page;
mod postgres;
mod project;
mod run;
mod sh;
mod size;
mod soak;
mod teeth;
mod test;
mod wasm;

use std::process::ExitCode;

use crate::project::Project;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [-- OPTIONS]  builds everything and starts the server with the demo; OPTIONS go to `convengine serve`
  test              runs every check and every test, on SQLite and on a PostgreSQL of its own, the browser's included
  ready             test without the engine, the page and the browser
  postgres -- COMMAND
                    runs a command beside a PostgreSQL of its own, for one test: cargo xtask postgres -- cargo test NAME
  wasm              builds the browser engine
  page              builds the browser engine and the page
  npm               builds the browser engine as a package for npm, into target/npm
  extension         builds the worked extension
  teeth             changes every expectation of the corpus, one at a time (--leaves), and breaks the engine in two dozen ways
                    (--builds [NAME…]); each time a test must fail
  size              prints the bytes of what was built and compares them with tests/budget.txt
  soak [crash | load | size | streams | fuzz]
                    crash: a server killed at every point of ten packs; load: five packs at once on both databases, memory, and a
                    PostgreSQL that is stopped meanwhile; size: bytes a turn; streams: 5,000 open streams; fuzz: ten minutes for
                    each reader; without a word all of them
  bench             prints what a turn costs beside a server without a core, and how soon the page answers (--quick: shorter,
                    --counts: no times)

What is missing on the machine is installed where that is allowed.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let command: fn(&Project, &[&str]) -> anyhow::Result<()> = match words.as_slice() {
        ["run"] | ["run", "--", ..] => |project, words| run::run(project, words.get(2..).unwrap_or(&[])),
        ["test"] => |project, _| test::everything(project),
        ["ready"] => |project, _| test::ready(project),
        ["postgres", "--", _, ..] => |project, words| test::beside_postgres(project, words.get(2..).unwrap_or(&[])),
        ["wasm"] => |project, _| wasm::build(project),
        ["page"] => |project, _| page::build(project),
        ["npm"] => |project, _| npm::build(project),
        ["extension"] => |project, _| wasm::extension(project),
        ["bench", ..] => |project, words| bench::run(project, words.get(1..).unwrap_or(&[])),
        ["teeth"] => |project, _| teeth::leaves(project).and_then(|()| teeth::builds(project, &[])),
        ["teeth", "--leaves"] => |project, _| teeth::leaves(project),
        ["teeth", "--builds", ..] => |project, words| teeth::builds(project, words.get(2..).unwrap_or(&[])),
        ["soak", ..] => |project, words| soak::run(project, words.get(1..).unwrap_or(&[])),
        ["size"] => |project, _| size::everything(project),
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
