//! The page in a real Chromium, with the network off after it has loaded: the same bytes as in the core.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use convengine_server::play::{CorePlayer, Suspend};
use convengine_tests::{Case, binary, demo, root, talk};
use serde_json::Value;

const PACKS: [&str; 5] = ["help_desk.json", "loan.json", "card_replacement.json", "model_acts.json", "rule_lab.json"];

/// A talk whose model is slow and fails, so that its answers, times and failures go through the page.
const TALK: &str = "hotel_by_the_lake";

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

/// A talk as the pack that it stands for, in a file that goes with the test: the page reads packs alone.
fn as_pack(name: &str) -> Case {
    let Case { pack, .. } = talk(&format!("{name}.talk")).unwrap();
    let path = std::env::temp_dir().join(format!("convengine-{}-{name}.json", std::process::id()));
    std::fs::write(&path, serde_json::to_string(&pack).unwrap()).unwrap();
    Case { path, pack }
}

#[test]
fn packs_and_a_talk_have_the_same_hashes_as_in_the_core() {
    let (server, address, file) = serve();
    let mut cases: Vec<Case> = PACKS.iter().map(|it| demo(it).unwrap()).collect();
    cases.push(as_pack(TALK));
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/browser.mjs")).arg(&address).args(cases.iter().map(|it| &it.path));
    let output = command.output().expect("node cannot be started");
    drop(server);
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_file(&cases[PACKS.len()].path);
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
