//! The code blocks of the book. Tests of `start.rs` and `reference` follow and play most of them; the others are checked here.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Message, Scripted};
use convengine_core::turn::{Completion, Effect, Journal, Notice, Outcome, Turn, TurnError, TurnInput, Write};
use convengine_test_macros::test;
use convengine_tests::{demo, root, server_binary};
use serde_json::{Value, json};

use crate::harness::TestEnv;
use crate::reference::PAGES;
use crate::sources::{files, read};
use crate::start::followed_pages;

/// What a block shows that no program reads.
const PICTURES: [&str; 2] = ["mermaid", "text"];

/// The page whose programs call a server.
const CLIENTS: &str = "docs/guide/clients.md";

/// The page with the loop of a host.
const OWN_HOST: &str = "docs/concepts/write-your-own-host.md";

/// Programs in commands that are not run here, besides our own.
const FOREIGN: [&str; 7] = ["cd", "cp", "curl", "export", "psql", "restatectl", "systemctl"];

/// A code block with its page and the line of its first fence.
struct Block {
    page: String,
    line: usize,
    info: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{} `{}`", self.page, self.line, self.info)
    }
}

/// All blocks of the pages of the book, also those within lists; the specification and the decisions have sketches instead of examples.
fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for path in files("docs", &[".md"]) {
        let page = path.strip_prefix(root()).unwrap().display().to_string();
        if page.starts_with("docs/spec") || page.starts_with("docs/decisions") {
            continue;
        }
        let text = read(&path);
        let mut lines = text.lines().enumerate();
        while let Some((line, opening)) = lines.by_ref().find(|it| it.1.trim_start().starts_with("```")) {
            let indentation = opening.len() - opening.trim_start().len();
            let inner: Vec<&str> = lines
                .by_ref()
                .map(|it| it.1)
                .take_while(|it| it.trim() != "```")
                .map(|it| it.get(indentation..).unwrap_or_default())
                .collect();
            let info = opening.trim_start().trim_start_matches('`').to_owned();
            found.push(Block { page: page.clone(), line: line + 1, info, text: inner.join("\n") + "\n" });
        }
    }
    found
}

/// Whether a test looks at a block: one of this module, of `start.rs` or of `reference`.
fn is_checked(block: &Block) -> bool {
    let has_examples = PAGES.iter().any(|(page, _)| block.page == format!("docs/reference/{page}.md"));
    let is_followed = || followed_pages().any(|page| page == block.page) && (block.info == "console" || block.info.contains(" file="));
    let is_checked_here = match block.info.as_str() {
        "json" | "toml" => true,
        "js" | "python" => block.page == CLIENTS,
        "rust" => block.page == OWN_HOST,
        // `readme.rs` plays it.
        "transcript" => block.page == "docs/guide/server.md",
        info => info.ends_with(" elsewhere") || PICTURES.contains(&info),
    };
    has_examples || is_checked_here || is_followed()
}

#[test]
#[on(no_database)]
fn every_block_has_a_check() {
    let blocks = blocks();
    let unchecked: Vec<String> = blocks.iter().filter(|it| !is_checked(it)).map(Block::place).collect();
    assert!(unchecked.is_empty(), "add the pages to start.rs, or mark blocks that need more with `elsewhere`:\n{}", unchecked.join("\n"));
    assert!(blocks.len() > 200, "only {} blocks were found", blocks.len());
}

/// Runs the program with the words of a command line, in a shell; returns whether it succeeds, and what it prints.
fn run(line: &str, folder: &Path) -> (bool, String) {
    let program = server_binary().unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env("GROQ_API_KEY", "key-of-the-provider");
    let output = command.output().expect("cannot start sh");
    (output.status.success(), format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// A pack with what a block is a part of, if it is one of a pack.
fn pack_with(value: &Value) -> Option<Value> {
    let node = value.get("data").map(|_| value.clone());
    let tools = if value["kind"] == "mcp" { vec![value.clone()] } else { Vec::new() };
    if node.is_some() || !tools.is_empty() {
        let ends = [("start", "Start"), ("end", "End")].map(|end| json!({"id": end.0, "type": end.0, "name": end.1, "data": {}}));
        let nodes: Vec<Value> = ends.into_iter().chain(node).collect();
        let graph = json!({"id": "r", "kind": "root", "entry": "start", "nodes": nodes, "edges": []});
        let document = json!({
            "schema_version": "1.0", "doc": "conversation_flow", "id": "f", "name": "F", "root": "r", "graphs": [graph], "tools": tools
        });
        return Some(json!({"name": "block", "documents": [document]}));
    }
    if value.get("task_id").is_some() {
        return Some(json!({"name": "block", "tables": {"ce_task": [value]}}));
    }
    value.get("tables").map(|_| value.clone())
}

/// What lint finds in a pack. Of documents only what is wrong with their form counts, because nothing leads to a single node.
fn problems_of(pack: &Value, folder: &Path) -> Vec<String> {
    fs::write(folder.join("pack.json"), pack.to_string()).unwrap();
    let (_, printed) = run("convengine lint pack.json", folder);
    let has_documents = pack.get("documents").is_some();
    printed.lines().filter(|line| !has_documents || line.contains(" D0")).map(str::to_owned).collect()
}

#[test]
#[on(no_database)]
fn objects_of_guides_are_parts_of_packs() {
    let folder = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    let mut count = 0;
    for block in blocks().iter().filter(|it| it.info == "json") {
        let Ok(value) = serde_json::from_str::<Value>(&block.text) else {
            problems.push(format!("{}: not JSON", block.place()));
            continue;
        };
        // The pages of the reference are generated from examples that have their own tests.
        if let Some(pack) = pack_with(&value).filter(|_| !block.page.starts_with("docs/reference")) {
            problems.extend(problems_of(&pack, folder.path()).into_iter().map(|it| format!("{}: {it}", block.place())));
            count += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count >= 6, "only {count} parts of packs were found");
    let wrong = pack_with(&json!({"id": "a", "type": "knowledge", "name": "A", "data": {"sauces": []}})).unwrap();
    assert!(!problems_of(&wrong, folder.path()).is_empty(), "an unknown member is found");
}

#[test]
#[on(no_database)]
fn settings_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let lint = format!("convengine lint --settings settings.toml '{}'", root().join("tests/packs/demo/loan.json").display());
    let mut count = 0;
    for block in blocks().iter().filter(|it| it.info == "toml") {
        fs::write(folder.path().join("settings.toml"), &block.text).unwrap();
        let (is_valid, printed) = run(&lint, folder.path());
        assert!(is_valid, "{}: {printed}", block.place());
        count += 1;
    }
    assert!(count >= 3, "only {count} files of settings were found");
    fs::write(folder.path().join("settings.toml"), "[convengine.network]\nallow-privat = []\n").unwrap();
    assert!(!run(&lint, folder.path()).0, "a setting that does not exist is found");
}

/// The commands of a console on one line each, without comments.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(|line| line.split("  #").next().unwrap_or_default().trim().to_owned()).collect()
}

#[test]
#[on(no_database)]
fn commands_that_are_not_run_have_known_options() {
    let folder = tempfile::tempdir().unwrap();
    let developer_commands = read(&root().join("tests/xtask/src/main.rs"));
    let mut count = 0;
    for block in blocks().iter().filter(|it| it.info == "console elsewhere") {
        for command in commands(&block.text) {
            let words: Vec<&str> = command.split_whitespace().collect();
            match words[..] {
                // Help is printed when everything before it is right.
                ["convengine", ..] => {
                    let (is_right, printed) = run(&format!("{command} --help"), folder.path());
                    assert!(is_right, "{}: {command}: {printed}", block.place());
                }
                ["cargo", "xtask", name, ..] => {
                    assert!(developer_commands.contains(&format!("\n  {name} ")), "{}: {command}", block.place());
                }
                _ => assert!(FOREIGN.contains(&words[0]), "{}: {command}", block.place()),
            }
            count += 1;
        }
    }
    assert!(count >= 15, "only {count} commands were found");
    assert!(!run("convengine serve --lisen 127.0.0.1:0 --help", folder.path()).0, "an option that does not exist is found");
    assert_eq!(commands("$ a \\\n    b  # c\nout\n$ d\n"), ["a      b", "d"]);
}

/// The printed values that a program names in a comment behind the call that prints them.
fn printed_values(program: &str) -> Vec<&str> {
    let calls = program.lines().filter(|line| line.contains("console.log(") || line.contains("print("));
    calls.filter_map(|line| line.split_once("); // ").or_else(|| line.split_once(")  # "))).map(|it| it.1).collect()
}

/// The programs of the page are parts of one: later blocks use the client of the first. A client cannot tell one database from another.
#[test]
#[on(sqlite)]
fn the_programs_of_the_guide_to_clients_print_what_they_say() {
    let env = TestEnv::new();
    let packs = ["tests/packs/demo/help_desk.json", "tests/packs/flow/helpdesk.json"].map(|it| root().join(it).display().to_string());
    for pack in &packs {
        let imported = env.run(&["import", pack]);
        assert_eq!(imported.code, 0, "{imported:?}");
    }
    let [tables, assistant] = packs;
    let models = [format!("scripted:{tables}"), format!("intent_match=scripted:{assistant}"), format!("synthesis=scripted:{assistant}")];
    let server = env.serve(&["--llm", &models[0], "--llm", &models[1], "--llm", &models[2]]);
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("node_modules/@convengine");
    fs::create_dir_all(&package).unwrap();
    std::os::unix::fs::symlink(root().join("clients/typescript"), package.join("client")).unwrap();
    let library = root().join("clients/python").display().to_string();
    for (kind, file, command) in [
        ("js", "blocks.mjs", "node blocks.mjs".to_owned()),
        // No files beside the sources.
        ("python", "blocks.py", format!("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{library}' python3 blocks.py")),
    ] {
        let parts: Vec<String> = blocks().into_iter().filter(|it| it.page == CLIENTS && it.info == kind).map(|it| it.text).collect();
        let program = parts.join("\n");
        fs::write(folder.path().join(file), program.replace("127.0.0.1:8080", &server.address)).unwrap();
        let (has_succeeded, printed) = run(&command, folder.path());
        assert!(has_succeeded, "{file}: {printed}");
        let values = printed_values(&program);
        assert!(parts.len() >= 3 && values.len() >= 2, "{file}: {parts:?}");
        for value in values {
            assert!(printed.lines().any(|line| line == value), "{file} does not print '{value}': {printed}");
        }
    }
}

/// The host of the page, whose loop is the block.
fn run_host(
    input: TurnInput,
    config: Arc<Config>,
    mut publish: impl FnMut(&[Notice]),
    mut perform: impl FnMut(&[Effect]) -> Vec<Completion>,
    commit: impl FnOnce(&Journal, &[Write]) -> Result<(), TurnError>,
    answer: impl FnOnce(&Outcome),
) -> Result<(), TurnError> {
    let (mut turn, mut slice) = Turn::start(input, config)?;
    let outcome = loop {
        publish(&slice.notices);
        if let Some(outcome) = slice.end.take() {
            break outcome;
        }
        let completions = perform(&slice.effects);
        slice = turn.resume(completions)?;
    };
    commit(turn.journal(), &outcome.writes)?;
    answer(&outcome);
    Ok(())
}

#[test]
#[on(no_database)]
fn the_loop_of_a_host_runs_a_turn() {
    let blocks = blocks();
    let block = blocks.iter().find(|it| it.page == OWN_HOST && it.info == "rust").unwrap();
    let source = read(&root().join("tests/tests/suite/book_blocks.rs"));
    let indented: Vec<String> = block.text.lines().map(|line| format!("    {line}")).collect();
    assert!(source.contains(&indented.join("\n")), "{} and `run_host` differ", block.place());

    let pack = demo("loan.json").unwrap().pack;
    let config = Arc::new(pack.compile().0);
    let mut model = Scripted::from_pack(&pack);
    let message =
        Message { message: Some("I need a loan for a new roof".to_owned()), at: 1_767_258_000_000, seed: 7, ..Message::default() };
    let input = message.into_input(&Conversations::default(), config.program());
    let (mut notices, mut effects, mut answered, mut rows) = (0, 0, 0, 0);
    let mut reply = None;
    run_host(
        input,
        config,
        |published| notices += published.len(),
        |requested| {
            effects += requested.len();
            let complete = |effect: &Effect| Completion { id: effect.id, at: 1_767_258_000_000, outcome: model.answer(&effect.request).0 };
            requested.iter().map(complete).collect()
        },
        |journal, writes| {
            answered = journal.entries.len();
            rows = writes.len();
            Ok(())
        },
        |outcome| reply = outcome.payload.as_ref().map(|it| it.value.clone()),
    )
    .unwrap();
    assert!(notices > 0 && effects > 0 && rows > 0, "{notices} notices, {effects} effects, {rows} rows");
    assert_eq!(answered, effects, "each effect is in the journal");
    assert!(reply.is_some_and(|it| !it.is_empty()));
}
