//! `convengine dev`: a folder whose packs are served, imported at each save and edited by the page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{Server, TestEnv, client, orders_pack, wait_until};
use crate::simulator::run_script;

const FILE: &str = "/dev/files/shop.json";

const TALK: &str = "# an order is found\nname    order\nconfig  ../shop.json\n\n> where is my order?\n< Your order is on its way.\n";

/// A project with a pack and a talk, and its server.
struct Project {
    env: TestEnv,
    server: Server,
}

impl Project {
    fn start() -> Project {
        let env = TestEnv::new();
        fs::create_dir_all(env.path("project/talks")).unwrap();
        env.write_pack("project/shop.json", &orders_pack());
        env.write("project/talks/order.talk", TALK);
        let folder = env.path("project").display().to_string();
        let server = env.start(&mut env.command(&["dev", &folder, "--listen", "127.0.0.1:0"]));
        Project { env, server }
    }

    fn file(&self) -> PathBuf {
        self.env.path("project/shop.json")
    }

    /// The tag of the pack.
    fn tag(&self) -> String {
        self.server.get(FILE).header("etag").to_owned()
    }

    /// Writes the pack as the page does; returns the status.
    fn put(&self, tag: &str, text: &str) -> u16 {
        self.server.request("PUT", FILE, &[("If-Match", tag)], text.to_owned()).status
    }

    /// What the server answers to a question about an order.
    fn answer(&self) -> Value {
        self.server.say(&uuid::Uuid::new_v4().to_string(), "where is my order?")["payload"]["value"].clone()
    }
}

/// The pack with another answer.
fn changed_pack(answer: &str) -> String {
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][0]["exact_text"] = json!(answer);
    pack.to_string()
}

#[test]
#[on(sqlite)]
fn a_saved_pack_answers_and_is_played() {
    let project = Project::start();
    let mut events = BufReader::new(client().get(format!("http://{}/dev/events", project.server.address)).send().unwrap()).lines();
    assert!(wait_until(|| project.answer() == "Your order is on its way."), "{}", project.server.log());
    fs::write(project.file(), changed_pack("It arrives today.")).unwrap();
    assert!(wait_until(|| project.answer() == "It arrives today."), "{}", project.server.log());
    let mut next = |kind: &str| loop {
        let line = events.next().unwrap().unwrap();
        let change: Option<Value> = line.strip_prefix("data: ").map(|data| serde_json::from_str(data).unwrap());
        if let Some(change) = change.filter(|it| it["kind"] == kind) {
            return change;
        }
    };
    while format!("\"{}\"", next("file")["hash"].as_str().unwrap()) != project.tag() {}
    // The talk expects the answer of before.
    let talks = loop {
        let talks = next("talks");
        if talks["passed"] == false {
            break talks;
        }
    };
    assert!(talks["output"].as_str().unwrap().contains("It arrives today."), "{talks}");
}

#[test]
#[on(sqlite)]
fn the_page_writes_only_over_what_it_has_read() {
    let project = Project::start();
    assert_eq!(project.server.get("/dev/project").json(), json!({"name": "project", "files": ["shop.json"]}));
    let tag = project.tag();
    assert_eq!(project.put(&tag, &changed_pack("Tomorrow.")), 204);
    assert_eq!(fs::read_to_string(project.file()).unwrap(), changed_pack("Tomorrow."));
    assert_eq!(project.put(&tag, &changed_pack("Never.")), 412);
    assert_eq!(project.server.request("PUT", FILE, &[], "{}").status, 428);
    assert_eq!(fs::read_to_string(project.file()).unwrap(), changed_pack("Tomorrow."));
}

#[test]
#[on(sqlite)]
fn other_files_and_other_pages_are_refused() {
    let project = Project::start();
    for path in ["/dev/files/talks%2Forder.talk", "/dev/files/..%2Fshop.json", "/dev/files/%2Fetc%2Fpasswd", "/dev/files/other.json"] {
        assert_eq!(project.server.get(path).status, 404, "{path}");
    }
    for path in ["/dev/project", "/dev/files/shop.json", "/dev/events", "/"] {
        for (header, value, status) in [("Origin", "http://elsewhere.example", 403), ("Host", "elsewhere.example", 421)] {
            assert_eq!(project.server.request("GET", path, &[(header, value)], "").status, status, "{path} {header}");
        }
    }
}

#[test]
#[on(sqlite)]
fn it_starts_on_a_folder_with_a_pack_and_on_this_machine_alone() {
    let env = TestEnv::new();
    fs::create_dir(env.path("empty")).unwrap();
    let folder = env.path("empty").display().to_string();
    let output = env.run(&["dev", &folder]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("convengine init"), "{output:?}");
    env.write_pack("empty/shop.json", &orders_pack());
    let output = env.run(&["dev", &folder, "--listen", "0.0.0.0:0"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("loopback"), "{output:?}");
}

#[test]
#[on(browser)]
fn an_edit_in_the_browser_is_saved_and_a_saved_file_is_replayed() {
    let project = Project::start();
    let file = project.file().display().to_string();
    let lines = run_script("project.mjs", &project.server.address, &[&file]);
    assert_eq!(lines["replies"], [json!(["Your order is on its way."]), json!(["It arrives today."])]);
    assert_eq!(lines["conflict"], [json!(true)]);
    assert_eq!(lines["kept"], [json!("From the page.")]);
    let stored: Value = serde_json::from_str(&fs::read_to_string(project.file()).unwrap()).unwrap();
    assert_eq!(stored["tables"]["ce_response"][0]["exact_text"], "From the page.");
}
