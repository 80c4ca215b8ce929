//! The page in a real Chromium, with the network off after it has loaded: the same bytes as in the core.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use convengine_server::play::{CorePlayer, Suspend};
use convengine_tests::{Case, binary, demo, root};
use serde_json::Value;

const PACKS: [&str; 3] = ["help_desk.json", "model_acts.json", "rule_lab.json"];

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server with the page in it, on a database in memory's place: a file that goes with the test.
fn serve() -> (Server, String, std::path::PathBuf) {
    let file = std::env::temp_dir().join(format!("convengine-browser-{}.db", std::process::id()));
    let mut command = Command::new(binary().unwrap());
    command.args(["serve", "--listen", "127.0.0.1:0", "--database"]).arg(format!("sqlite:{}", file.display()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("convengine listening on ").expect("the server did not start").to_owned();
    (Server(child), address, file)
}

fn core_hashes(case: &Case) -> Vec<String> {
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    (0..case.pack.turns.len()).map(|turn| player.play(turn).unwrap().hash).collect()
}

#[test]
fn three_packs_have_the_same_hashes_as_in_the_core() {
    let (server, address, file) = serve();
    let cases: Vec<Case> = PACKS.iter().map(|it| demo(it).unwrap()).collect();
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/browser.mjs")).arg(&address).args(cases.iter().map(|it| &it.path));
    let output = command.output().expect("node cannot be started");
    drop(server);
    let _ = std::fs::remove_file(file);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Value> = printed.lines().filter_map(|it| serde_json::from_str(it).ok()).collect();
    let found: BTreeMap<&str, &Value> = lines.iter().filter_map(|it| Some((it["pack"].as_str()?, &it["hashes"]))).collect();
    for case in &cases {
        let name = case.path.file_name().unwrap().to_str().unwrap();
        let hashes = found.get(name).unwrap_or_else(|| panic!("the page did not play {name}: {printed}"));
        assert_eq!(**hashes, serde_json::json!(core_hashes(case)), "{name}");
    }
    let reply = lines.iter().find_map(|it| it["chat"].as_str()).expect("the page did not answer a typed message");
    assert!(!reply.trim().is_empty());
}
