//! The tutorials in `docs/start`, the commands of concepts and guides, the skills of a new project and the READMEs of examples, followed
//! word by word: every file is written, every command runs, every output is compared.
//!
//! A block of a page is ```` ```json file=NAME ```` (or `talk`, `python`), a file to be written, or ```` ```console ````: lines that begin
//! with `$ ` are commands, the lines below one are its output, in which `…` stands for any text. A word of a command that ends in `…` is
//! completed from an earlier output, as a reader would paste it. Servers run until the page ends, on a free port in place of the printed
//! one. A block whose second word is `elsewhere` needs what a test lacks, such as a model or a cluster; it and blocks of other kinds are
//! checked in `book_blocks.rs`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use convengine_test_macros::test;
use convengine_tests::{root, server_binary};
use uuid::Uuid;

use crate::harness::{TIMEOUT, TestEnv};
use crate::simulator::{members_of, run_page};
use crate::sources::files;

/// Programs that a page starts in another terminal: the beginning of the command, the printed port, and the beginning of the line that
/// says that it is ready.
const SERVERS: [(&str, &str, &str); 5] = [
    ("convengine serve", "8080", "convengine listening on "),
    ("python3 -u -m http.server", "9000", "Serving HTTP on "),
    ("python3 -u task.py", "9000", "Tasks on "),
    ("node task.mjs", "9001", "Pickups on "),
    ("java Task.java", "9002", "Renewals on "),
];

/// The line that ends the output of a command in the shell.
const END: &str = "=== end of the command ===";

/// Variables that would change what the commands do.
const VARIABLES: [&str; 5] = ["CONVENGINE_DATABASE", "CONVENGINE_LLM", "CONVENGINE_SET", "CONVENGINE_SETTINGS", "CONVENGINE_TENANT"];

/// Kinds of blocks of guides that are not followed.
const NOT_FOLLOWED: [&str; 7] = ["js", "json", "python", "rust", "text", "toml", "transcript"];

/// What takes the place of the root of the repository in the commands of [`GUIDES`].
const REPOSITORY: &str = "REPOSITORY";

/// Pages that go on in the folder of the first pack, in the order in which they cite each other.
const CONCEPTS: [&str; 4] = ["docs/concepts/turns.md", "docs/concepts/effects.md", "docs/concepts/journal.md", "docs/concepts/replay.md"];

/// Guides with commands, and those that bring about what a reader of the guide has.
const GUIDES: [(&str, &[&str]); 10] = [
    ("docs/start/README.md", &[]),
    (
        "docs/guide/access.md",
        &["convengine import REPOSITORY/tests/packs/demo/help_desk.json", "convengine serve --set convengine.security.mode=keys"],
    ),
    (
        "docs/guide/ai-agents.md",
        &[
            "cp REPOSITORY/tests/book/shop.json .",
            "convengine migrate",
            "convengine serve --llm scripted:REPOSITORY/tests/book/shop_model.json",
        ],
    ),
    (
        "docs/guide/assistants.md",
        &[
            "convengine import REPOSITORY/tests/packs/flow/helpdesk.json",
            "convengine serve --llm scripted:REPOSITORY/tests/packs/flow/helpdesk.json",
        ],
    ),
    (
        "docs/guide/chains.md",
        &[
            "convengine import REPOSITORY/tests/book/claims.json --strict",
            "CLAIMS_INGRESS=secret-of-the-hook convengine serve --set convengine.secrets.CLAIMS_INGRESS=env:CLAIMS_INGRESS",
            "curl -s -X POST http://127.0.0.1:8080/v1/workflow-chains/claims/publish",
            "export CLAIMS_INGRESS=secret-of-the-hook",
        ],
    ),
    ("docs/guide/desk.md", &[]),
    (
        "docs/guide/knowledge.md",
        &[
            "mkdir articles",
            "cp REPOSITORY/tests/book/fees.md REPOSITORY/tests/book/limits.pdf articles",
            "cp articles/limits.pdf .",
            "convengine import REPOSITORY/tests/packs/flow/bank.json",
            "convengine serve",
        ],
    ),
    ("docs/guide/operations.md", &["cp REPOSITORY/tests/packs/demo/help_desk.json pack.json"]),
    ("docs/guide/server.md", &["cp REPOSITORY/tests/packs/demo/help_desk.json pack.json"]),
    ("docs/guide/tools.md", &[]),
];

/// The pages of the book that a test follows.
pub fn followed_pages() -> impl Iterator<Item = &'static str> {
    let tutorials = ["docs/start/first-pack.md", "docs/start/first-assistant.md", "docs/start/new-project.md"];
    tutorials.into_iter().chain(CONCEPTS).chain(GUIDES.map(|it| it.0))
}

/// How a page is followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    /// Every block is followed, and every output is printed.
    Tutorial,
    /// An output may be left out, and there may be blocks that are checked elsewhere.
    Guide,
}

/// A part of a page that has to be followed.
#[derive(Debug, PartialEq)]
enum Block {
    File { name: String, text: String },
    Console(Vec<Step>),
}

/// A command with its printed output.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    output: String,
}

/// Reads the blocks of a page.
fn blocks(page: &str, kind: Page) -> Vec<Block> {
    let mut lines = page.lines();
    let mut found = Vec::new();
    while let Some(info) = lines.by_ref().find_map(|it| it.strip_prefix("```")) {
        let text: Vec<&str> = lines.by_ref().take_while(|it| *it != "```").collect();
        found.push(match info.split_once(" file=") {
            Some(("json" | "talk" | "python", name)) => Block::File { name: name.into(), text: text.join("\n") + "\n" },
            None if info == "console" => Block::Console(steps(&text)),
            None if kind == Page::Guide && (NOT_FOLLOWED.contains(&info) || info.ends_with(" elsewhere")) => continue,
            _ => panic!("no test runs blocks of the kind '{info}'"),
        });
    }
    found
}

fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continues = false;
    for line in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.into(), output: String::new() });
        } else {
            let step = steps.last_mut().expect("a console begins with a command");
            let target = if continues { &mut step.command } else { &mut step.output };
            target.push_str(if target.is_empty() { "" } else { "\n" });
            target.push_str(line);
        }
        continues = line.ends_with('\\') && steps.last().is_some_and(|it| it.output.is_empty());
    }
    steps
}

/// Whether a text is as printed, where `…` stands for any text.
fn is_like(printed: &str, text: &str) -> bool {
    let mut pieces: Vec<&str> = printed.split('…').collect();
    let last = pieces.pop().unwrap_or_default();
    if pieces.is_empty() {
        return text == last;
    }
    let Some(mut rest) = text.strip_prefix(pieces[0]) else { return false };
    for piece in &pieces[1..] {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

const fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Completes the words of a command that end in `…` from the latest output that has them.
fn complete(command: &str, outputs: &str) -> String {
    let Some((before, after)) = command.split_once('…') else { return command.into() };
    let start = before.rfind(|it| !is_word(it)).map_or(0, |it| it + 1);
    let at = outputs.rfind(&before[start..]).unwrap_or_else(|| panic!("no output completes '{command}'"));
    let word: String = outputs[at..].chars().take_while(|it| is_word(*it)).collect();
    format!("{}{word}{}", &before[..start], complete(after, outputs))
}

/// A command without the variables that it begins with.
fn without_variables(command: &str) -> &str {
    match command.split_once(' ') {
        Some((word, rest)) if word.contains('=') => without_variables(rest),
        _ => command,
    }
}

/// The lines of a stream, read in a thread, so that a program that says nothing does not hold up the test for ever.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// An empty folder with a shell in it.
struct Terminal {
    folder: PathBuf,
    shell: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    servers: Vec<Child>,
    /// What the servers print later; nobody reads it, but a program whose output is closed may fail.
    server_lines: Vec<Receiver<String>>,
    /// Printed ports and the real ones.
    ports: Vec<(String, String)>,
    /// All outputs so far.
    outputs: String,
}

impl Terminal {
    fn open() -> Terminal {
        let folder = std::env::temp_dir().join(format!("convengine-start-{}", Uuid::new_v4()));
        fs::create_dir(&folder).unwrap();
        let mut shell = Terminal::command(&folder, "exec 2>&1; exec sh").stdin(Stdio::piped()).spawn().unwrap();
        let (input, lines) = (shell.stdin.take().unwrap(), lines_of(shell.stdout.take().unwrap()));
        Terminal { folder, shell, input, lines, servers: Vec::new(), server_lines: Vec::new(), ports: Vec::new(), outputs: String::new() }
    }

    fn command(folder: &Path, line: &str) -> Command {
        let own = server_binary().unwrap();
        let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder).env("PATH", path).env("CONVENGINE_LISTEN", "127.0.0.1:0").stdout(Stdio::piped());
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command and returns its exit code and output; a server is ready when this returns.
    fn run(&mut self, command: &str) -> (i32, String) {
        let command = self.ports.iter().fold(complete(command, &self.outputs), |text, (printed, real)| {
            text.replace(&format!("127.0.0.1:{printed}"), &format!("127.0.0.1:{real}"))
        });
        let (code, output) = match SERVERS.iter().find(|it| without_variables(&command).starts_with(it.0)) {
            Some((_, printed, ready)) => (0, self.serve(&command, printed, ready)),
            None => self.run_in_shell(&command),
        };
        let output = self.ports.iter().fold(output, |text, (printed, real)| {
            let text = text.replace(&format!("127.0.0.1:{real}"), &format!("127.0.0.1:{printed}"));
            text.replace(&format!(" port {real} "), &format!(" port {printed} "))
        });
        self.outputs.push_str(&output);
        self.outputs.push('\n');
        (code, output)
    }

    fn run_in_shell(&mut self, command: &str) -> (i32, String) {
        writeln!(self.input, "{{ {command}\n}} </dev/null; printf '\\n%s%s\\n' '{END}' $?").unwrap();
        let mut output = Vec::new();
        loop {
            let line = self.lines.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("'{command}' does not end: {output:?}"));
            if let Some(code) = line.strip_prefix(END) {
                return (code.parse().unwrap(), output.join("\n").trim_end().to_owned());
            }
            output.push(line);
        }
    }

    /// Starts a server on a free port and returns what it prints until it is ready.
    fn serve(&mut self, command: &str, printed: &str, ready: &str) -> String {
        let command =
            format!("{command} ").replace(&format!(" {printed} "), " 0 ").replace(&format!("127.0.0.1:{printed} "), "127.0.0.1:0 ");
        let line = format!("exec env {command} 2>server.log");
        let mut server = Terminal::command(&self.folder, &line).stdin(Stdio::null()).spawn().unwrap();
        let lines = lines_of(server.stdout.take().unwrap());
        self.servers.push(server);
        let mut output = String::new();
        loop {
            let Ok(line) = lines.recv_timeout(TIMEOUT) else {
                let log = fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
                panic!("'{command}' does not become ready: {output}{log}");
            };
            output.push_str(&line);
            if line.starts_with(ready) {
                let (_, after) = line.split_once("127.0.0.1:").unwrap_or_else(|| panic!("no port in '{line}'"));
                let port: String = after.chars().take_while(char::is_ascii_digit).collect();
                self.write_port_into_packs(printed, &port);
                self.ports.push((printed.into(), port));
                self.server_lines.push(lines);
                return output;
            }
            output.push('\n');
        }
    }

    /// Puts the real port of a service in place of the printed one where a pack has its address.
    fn write_port_into_packs(&self, printed: &str, port: &str) {
        let files = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        for pack in files.filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
            let text = fs::read_to_string(&pack).unwrap();
            fs::write(pack, text.replace(&format!("127.0.0.1:{printed}"), &format!("127.0.0.1:{port}"))).unwrap();
        }
    }

    /// Follows the text of a page; returns the numbers of files and commands.
    fn follow(&mut self, page: &str, text: &str, kind: Page) -> (usize, usize) {
        let (mut files, mut commands) = (0, 0);
        for block in blocks(text, kind) {
            match block {
                Block::File { name, text } => {
                    fs::write(self.folder.join(name), text).unwrap();
                    files += 1;
                }
                Block::Console(steps) => {
                    for Step { command, output: printed } in steps {
                        let (code, output) = self.run(&command);
                        let is_left_out = kind == Page::Guide && printed.is_empty();
                        assert!(is_left_out || is_like(&printed, &output), "{page}: {command}\nprinted:\n{printed}\nfound:\n{output}");
                        // `lint` and `replay` end with 1 when they have something to say.
                        assert!(code == 0 || code == 1 && !printed.is_empty(), "{page}: {command} ends with {code}");
                        commands += 1;
                    }
                }
            }
        }
        (files, commands)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for child in self.servers.iter_mut().chain([&mut self.shell]) {
            // Best effort: it may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
        // Best effort: the folder is below the system's temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Follows a page that has at least so many files and commands.
fn follow(page: &str, least_files: usize, least_commands: usize) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (files, commands) = Terminal::open().follow(page, &text, Page::Tutorial);
    assert!(files >= least_files && commands >= least_commands, "{page} has {files} files and {commands} commands");
}

/// Follows the README of an example in a copy of its folder; `change` turns its text into one that can be followed.
pub fn follow_example(folder: &str, change: impl FnOnce(String) -> String) {
    let mut terminal = Terminal::open();
    for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
        // A reader who has followed it in its folder has left a database there.
        let is_database = entry.file_name().to_string_lossy().contains(".db");
        if entry.file_type().unwrap().is_file() && !is_database {
            fs::copy(entry.path(), terminal.folder.join(entry.file_name())).unwrap();
        }
    }
    let text = fs::read_to_string(terminal.folder.join("README.md")).unwrap();
    let (_, commands) = terminal.follow(folder, &change(text), Page::Tutorial);
    assert!(commands > 0, "the README of {folder} has no commands");
}

/// On SQLite only, because the page uses the default database.
#[test]
#[on(no_database)]
fn the_first_pack_is_built_as_printed_on_sqlite() {
    follow("docs/start/first-pack.md", 4, 8);
}

/// On SQLite only, because the page uses the default database.
#[test]
#[on(no_database)]
fn the_first_assistant_is_built_as_printed_on_sqlite() {
    follow("docs/start/first-assistant.md", 4, 8);
}

/// On SQLite only, because the pages use the default database.
#[test]
#[on(no_database)]
fn concepts_go_on_from_the_first_pack_as_printed_on_sqlite() {
    let mut terminal = Terminal::open();
    for page in ["docs/start/first-pack.md"].into_iter().chain(CONCEPTS) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let (_, commands) = terminal.follow(page, &text, Page::Tutorial);
        assert!(commands > 0, "{page} has no commands");
    }
}

/// On SQLite only, because the pages use the default database.
#[test]
#[on(no_database)]
fn the_commands_of_guides_answer_as_printed_on_sqlite() {
    for (page, preparation) in GUIDES {
        let mut terminal = Terminal::open();
        for command in preparation {
            let command = command.replace(REPOSITORY, &root().display().to_string());
            let (code, output) = terminal.run(&command);
            assert_eq!(code, 0, "{page}: {command}: {output}");
        }
        let text = fs::read_to_string(root().join(page)).unwrap();
        let (_, commands) = terminal.follow(page, &text, Page::Guide);
        assert!(commands > 0, "{page} has no commands");
    }
}

#[test]
#[on(no_database)]
fn a_new_project_is_made_as_printed() {
    follow("docs/start/new-project.md", 0, 8);
}

/// The cells of the rows of tables that begin with some text.
fn rows<'p>(page: &'p str, beginning: &str) -> Vec<Vec<&'p str>> {
    let lines = page.lines().filter(|line| line.starts_with(beginning));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
#[on(browser)]
fn the_first_look_at_the_page_in_the_browser_shows_what_the_tutorial_says() {
    let text = fs::read_to_string(root().join("docs/start/first-page.md")).unwrap();
    let pattern = text.lines().find(|line| line.starts_with("`$[?(")).expect("the tutorial has no pattern to write").trim_matches('`');
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["tutorial", pattern]);
    let [recorded, changed] = ["recorded", "changed"].map(|name| members_of(&lines[name][0], "reply"));
    assert_eq!(recorded[..2], changed[..2], "the first two turns are the same");
    let turns = ["| 3 |", "| 4 |", "| 5 |"].map(|beginning| rows(&text, beginning).remove(0));
    for (turn, row) in (3..).zip(turns) {
        for (reply, printed) in [(recorded[turn - 1], row[2]), (changed[turn - 1], row[3])] {
            let opening = printed.trim_matches('"').trim_end_matches('…').trim_end();
            assert!(reply.as_str().unwrap().starts_with(opening), "turn {turn}: {opening}: {reply}");
        }
    }
    let columns = rows(&text, "| `");
    assert_eq!(columns.len(), 4, "{columns:?}");
    for (name, value) in columns.iter().flat_map(|row| row[0].split(", ").zip(row[1].split(", "))) {
        assert_eq!(lines["rule"][0][name.trim_matches('`')], value.trim_matches('`'), "{name}");
    }

    let said = |name: &str| lines[name][0].as_str().unwrap();
    assert!(said("matched").contains("\nmatched\nce_rule 1\n"), "{}", said("matched"));
    assert!(said("branches").contains("Branch 1") && said("branches").contains("Branch 2"), "{}", said("branches"));
    for part in ["\ndid not match\nce_rule 1\n", "context.amount = 8000"] {
        assert!(said("unmatched").contains(part), "{part}: {}", said("unmatched"));
    }
    for part in ["This row in turn 3", "did not match", "8000", "No issues."] {
        assert!(said("row").contains(part), "{part}: {}", said("row"));
    }
    let [recorded, refused, timed_out] = ["recorded", "refused", "timedOut"].map(|name| members_of(&lines[name][0], "hash"));
    assert!(recorded[..4] == refused[..4] && recorded[4] != refused[4], "only turn 5 is another one");
    assert!(recorded[..4] == timed_out[..4] && recorded[4] != timed_out[4], "only turn 5 is another one");
    assert_eq!(lines["timedOut"][0][4]["state"], "SUBMITTING", "the application is not handed in");
    let dialogs: Vec<&str> = lines["dialog"].iter().filter_map(serde_json::Value::as_str).collect();
    assert!(dialogs[0].contains("URL fragment") && dialogs[1].contains("convengine test loan.talk"), "{dialogs:?}");
}

#[test]
#[on(no_database)]
fn the_examples_of_skills_work() {
    let skills = files("host-native/project/template/common/_agents/skills", &["SKILL.md"]);
    assert_eq!(skills.len(), 5, "{skills:?}");
    for skill in skills {
        follow(&skill.strip_prefix(root()).unwrap().display().to_string(), 2, 2);
    }
}

#[test]
#[on(no_database)]
fn blocks_of_a_page_are_read() {
    let step = |command: &str, output: &str| Step { command: command.into(), output: output.into() };
    let page = "text\n```toml\na = 1\n```\n```console elsewhere\n$ zero\n```\n```json file=a.json\n{}\n```\n```console\n$ one \\\n    -d 2\nout\n\nput\n$ three\n$ four\nend \\\n```\n";
    let console = Block::Console(vec![step("one \\\n    -d 2", "out\n\nput"), step("three", ""), step("four", "end \\")]);
    assert_eq!(blocks(page, Page::Guide), [Block::File { name: "a.json".into(), text: "{}\n".into() }, console]);
    for (printed, text, like) in [
        ("", "", true),
        ("", "a", false),
        ("a…c", "abbc", true),
        ("a…c", "ac\nc", true),
        ("a…c", "acd", false),
        ("…b…", "abc", true),
        ("…b…b…", "abc", false),
        ("aa…aa", "aaa", false),
    ] {
        assert_eq!(is_like(printed, text), like, "{printed} {text}");
    }
    assert_eq!(without_variables("A=1 B=2 node task.mjs --set=1"), "node task.mjs --set=1");
    assert_eq!(complete("T=cdp_… x", r#"{"a":"cdp_1"} {"token":"cdp_2-B_","#), "T=cdp_2-B_ x");
}
