//! `convengine dev`: a folder whose packs are served, imported at each save and edited by the page.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use convengine_content::check::MAX_DOCUMENT_BYTES;
use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::export::pack_with_task;
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
        Project::with_packs(&[("shop.json", &orders_pack())])
    }

    fn with_packs(packs: &[(&str, &Value)]) -> Project {
        let env = TestEnv::new();
        fs::create_dir_all(env.path("project/talks")).unwrap();
        for (name, pack) in packs {
            env.write_pack(&format!("project/{name}"), pack);
        }
        env.write("project/talks/order.talk", TALK);
        let folder = env.path("project").display().to_string();
        // In the folder, as in a new project.
        let database = format!("sqlite:{}", env.path("project/.convengine/dev.db").display());
        let server = env.start(&mut env.command(&["dev", &folder, "--listen", "127.0.0.1:0", "--database", &database]));
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
        self.answer_to("where is my order?")
    }

    fn answer_to(&self, text: &str) -> Value {
        self.server.say(&uuid::Uuid::new_v4().to_string(), text)["payload"]["value"].clone()
    }

    /// Waits until the server answers so.
    #[track_caller]
    fn wait_for_answer(&self, text: &str, expected: &str) {
        assert!(wait_until(|| self.answer_to(text) == expected), "{text}: {}, not {expected}\n{}", self.answer_to(text), self.server.log());
    }
}

/// A pack with another answer.
fn with_answer(mut pack: Value, answer: &str) -> Value {
    pack["tables"]["ce_response"][0]["exact_text"] = json!(answer);
    pack
}

fn changed_pack(answer: &str) -> String {
    with_answer(orders_pack(), answer).to_string()
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
fn scripted_answers_are_those_of_the_file() {
    let project = Project::with_packs(&[("shop.json", &pack_with_task(Some(" by a script")))]);
    project.wait_for_answer("hello", "Ask me about orders by a script.");
    project.env.write_pack("project/shop.json", &pack_with_task(Some(" by another script")));
    project.wait_for_answer("hello", "Ask me about orders by another script.");
    // The service of the task is called, which cannot be reached.
    project.env.write_pack("project/shop.json", &pack_with_task(None));
    project.wait_for_answer("hello", "Ask me about orders.");
}

#[test]
#[on(sqlite)]
fn rows_that_no_file_has_are_gone() {
    let policy = json!([{"policy_id": 1, "rule_type": "CONTAINS", "pattern": "secret", "response_text": "Not here.", "priority": 1}]);
    let more = |tables: Value| json!({"name": "more", "tables": tables, "tasks": {"orders:note": {"set_params": {"note": " by more"}}}});
    let shop = pack_with_task(None);
    let project = Project::with_packs(&[("more.json", &more(json!({"ce_policy": policy}))), ("shop.json", &shop)]);
    project.wait_for_answer("a secret", "Not here.");
    project.wait_for_answer("hello", "Ask me about orders by more.");

    // A table that both have is that of the file that was saved last, and that of the other one once it is taken out.
    let responses = with_answer(orders_pack(), "From more.")["tables"]["ce_response"].take();
    project.env.write_pack("project/more.json", &more(json!({"ce_response": responses})));
    project.wait_for_answer("where is my order?", "From more.");
    project.wait_for_answer("a secret", "Ask me about orders by more.");
    project.env.write_pack("project/more.json", &more(json!({"ce_policy": policy})));
    project.wait_for_answer("where is my order?", "Your order is on its way.");
    project.wait_for_answer("a secret", "Not here.");

    // A file that is broken keeps what it had, whatever is saved beside it.
    project.env.write("project/more.json", "{\"tables\": {");
    project.env.write_pack("project/shop.json", &with_answer(shop, "It arrives today."));
    project.wait_for_answer("where is my order?", "It arrives today.");
    assert_eq!(project.answer_to("a secret"), "Not here.");

    fs::remove_file(project.env.path("project/more.json")).unwrap();
    project.wait_for_answer("a secret", "Ask me about orders.");
    assert_eq!(project.answer(), "It arrives today.");
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
fn the_page_saves_packs_of_the_size_of_documents() {
    let project = Project::start();
    let with_about = |bytes: usize| {
        let mut pack = orders_pack();
        pack["about"] = json!("");
        let rest = pack.to_string().len();
        pack["about"] = json!("x".repeat(bytes - rest));
        pack.to_string()
    };
    let (largest, too_large) = (with_about(MAX_DOCUMENT_BYTES), with_about(MAX_DOCUMENT_BYTES + 1));
    assert_eq!(project.put(&project.tag(), &largest), 204);
    let tag = project.tag();
    let refused = project.server.request("PUT", FILE, &[("If-Match", &tag)], too_large);
    assert_eq!(refused.status, 413, "{}", refused.text);
    assert!(refused.text.contains(&MAX_DOCUMENT_BYTES.to_string()), "{}", refused.text);
    assert_eq!(project.tag(), tag);
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
    assert_eq!(lines["refused"], [json!("Not saved: the text is too large")]);
    let stored: Value = serde_json::from_str(&fs::read_to_string(project.file()).unwrap()).unwrap();
    assert_eq!(stored["tables"]["ce_response"][0]["exact_text"], "From the page.");
}
