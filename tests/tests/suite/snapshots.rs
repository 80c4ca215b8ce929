//! What an import would change, the history of configurations, and rolling back, with and without a server.

use convengine_test_macros::test;
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, SERVE, Server, TestEnv, assert_one_line, orders_pack, wait_until};
use crate::stream::Listener;

const ID: &str = crate::stream::ID;
const REFRESH: &str = "/api/v1/cache/refresh";
const SNAPSHOTS: &str = "/api/v1/config/snapshots";
const ROLLBACK: &str = "/api/v1/config/rollback";

/// The pack with another reply to questions about orders.
fn pack_with_reply(text: &str) -> Value {
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][0]["exact_text"] = json!(text);
    pack
}

fn import(env: &TestEnv, pack: &Value) {
    let output = env.run(&["import", &env.write_pack("next.json", pack)]);
    assert_eq!(output.code, 0, "{output:?}");
}

/// The snapshots that `list` returns, newest first.
fn list(env: &TestEnv) -> Vec<Value> {
    let output = env.run(&["snapshot", "list", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    serde_json::from_str::<Value>(&output.stdout).unwrap().as_array().unwrap().clone()
}

/// The hash of the active rows.
fn active(env: &TestEnv) -> String {
    let all = list(env);
    let of: Vec<&str> = all.iter().filter(|it| it["active"] == true).map(|snapshot| snapshot["hash"].as_str().unwrap()).collect();
    assert_eq!(of.len(), 1, "{all:?}");
    of[0].to_owned()
}

fn answer(server: &Server, text: &str) -> String {
    server.say(ID, text)["payload"]["value"].as_str().unwrap().to_owned()
}

fn running_hash(server: &Server) -> String {
    server.get(SNAPSHOTS).json()["active"].as_str().unwrap().to_owned()
}

fn tables(env: &TestEnv) -> Value {
    serde_json::from_str::<Value>(&env.run(&["export"]).stdout).unwrap()["tables"].clone()
}

#[test]
fn a_dry_run_reports_changes_and_changes_nothing() {
    let env = TestEnv::with_pack(&orders_pack());
    let mut sql = env.sql();
    let before = sql.dump();
    let mut pack = pack_with_reply("It has arrived.");
    let responses = pack["tables"]["ce_response"].as_array_mut().unwrap();
    responses.remove(2);
    let mut more = responses[1].clone();
    (more["response_id"], more["intent_code"]) = (json!(9), json!("ORDERS"));
    more["exact_text"] = json!("{{");
    responses.push(more);
    pack["tasks"] = json!({"a:b": {"result": 1}});
    pack["tables"]["cv_document"] = json!([{"document_id": 4, "collection": "faq", "body": "A week."}]);
    let file = env.write_pack("next.json", &pack);
    let output = env.run(&["import", &file, "--dry-run"]);
    assert!(output.code == 0 && output.stderr.lines().count() == 1, "{output:?}");
    assert!(output.stderr.contains("--set convengine.flow.dialogue-act.resolute=REGEX_ONLY"), "the settings are left out: {output:?}");
    let with_settings = env.run(&[&["import", &file, "--dry-run"][..], &REGEX_ONLY].concat());
    assert_eq!((with_settings.code, with_settings.stderr.as_str()), (0, ""), "{with_settings:?}");
    for line in [
        "ce_response: 1 added, 1 removed, 1 changed",
        "  ~ 1",
        "      exact_text: \"Your order is on its way.\" → \"It has arrived.\"",
        "  + 9 {",
        "  - 3 {",
        "cv_document: 1 added",
        "tasks: 1 added",
        "  + a:b {",
        "new issue: error ce_response[9]",
    ] {
        assert!(output.stdout.contains(line), "{line} in {}", output.stdout);
    }
    let found: Value = serde_json::from_str(&env.run(&["import", &file, "--dry-run", "--json"]).stdout).unwrap();
    assert_eq!(found["before"], json!(active(&env)));
    assert!(found["after"] != found["before"] && found["issues"]["gone"] == json!([]), "{found}");
    assert_eq!(found["tables"]["ce_response"]["changed"][0]["columns"]["exact_text"]["new"], "It has arrived.");
    assert_eq!(found["tables"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ce_response", "cv_document", "tasks"]);
    // What an import would reject.
    let strict = env.run(&["import", &file, "--dry-run", "--strict"]);
    assert!(strict.code == 1 && strict.stderr.contains("\nerror ce_response[9]"), "{strict:?}");
    let unfit = env.write_pack("unfit.json", &json!({"name": "unfit", "tables": {"ce_intent": [{"intent_code": 5, "description": "d"}]}}));
    assert_one_line(&env.run(&["import", &unfit, "--dry-run"]), 1, &["ce_intent[1].intent_code"]);
    assert_eq!(sql.dump(), before);
    let same = env.run(&["import", &env.write_pack("same.json", &orders_pack()), "--dry-run"]);
    assert!(same.code == 0 && same.stdout.ends_with("no difference\n"), "{same:?}");
    // No tables are created for it.
    let empty = TestEnv::new();
    let output = empty.run(&["import", &file, "--dry-run"]);
    assert!(output.code == 0 && output.stderr.contains("compared with an empty one") && empty.is_untouched(), "{output:?}");
    assert!(output.stdout.contains("ce_intent: 2 added\n"), "{output:?}");
}

#[test]
fn rows_are_restored_unchanged() {
    let env = TestEnv::with_pack(&orders_pack());
    let (first, first_rows) = (active(&env), tables(&env));
    let mut other = pack_with_reply("second");
    other["tables"]["ce_intent"].as_array_mut().unwrap().push(json!({"intent_code": "C", "description": "c", "enabled": false}));
    let template = |id: u32, at: &str| {
        json!({"template_id": id, "intent_code": "ORDERS", "state_code": "ANY", "output_format": "TEXT", "system_prompt": "s",
            "user_prompt": "u", "created_at": at})
    };
    other["tables"]["ce_prompt_template"] = json!([template(1, "2026-02-01 00:00:00"), template(2, "2026-01-01 00:00:00")]);
    import(&env, &other);
    let (second, second_rows) = (active(&env), tables(&env));
    import(&env, &pack_with_reply("third"));
    env.sql().run("delete from ce_prompt_template");
    // The current rows were never imported, and are stored as well.
    let shown = env.run(&["snapshot", "diff", &second[..8]]);
    assert!(shown.code == 0 && shown.stdout.contains("ce_prompt_template: 2 removed"), "{shown:?}");
    let everything = env.sql().dump();
    let dry = env.run(&["snapshot", "activate", &second[..12], "--dry-run"]);
    assert!(dry.code == 0 && dry.stdout.contains("\"third\" → \"second\""), "{dry:?}");
    assert_eq!(env.sql().dump(), everything);
    let output = env.run(&["snapshot", "activate", &second[..12]]);
    assert_eq!((output.code, output.stdout.trim()), (0, format!("activated {second}").as_str()), "{output:?}");
    assert_eq!(active(&env), second);
    let plain = |mut tables: Value| {
        // Only the order of the creation times of templates matters.
        let templates = tables["ce_prompt_template"].as_array_mut().into_iter().flatten();
        templates.for_each(|template| _ = template.as_object_mut().unwrap().remove("created_at"));
        for rows in tables.as_object_mut().unwrap().values_mut().filter_map(Value::as_array_mut) {
            rows.iter_mut().for_each(|row| _ = row.as_object_mut().unwrap().remove("created_at"));
        }
        tables
    };
    assert_eq!(plain(tables(&env)), plain(second_rows));
    // Back to the rows that were edited by hand, to the third snapshot, and on to the first.
    let rollback = || {
        let output = env.run(&["snapshot", "rollback"]);
        assert_eq!(output.code, 0, "{output:?}");
        active(&env)
    };
    let edited = rollback();
    let third = rollback();
    assert_eq!(list(&env).len(), 4);
    assert!(![&first, &second].contains(&&edited) && ![&first, &second, &edited].contains(&&third));
    assert_eq!((rollback(), rollback()), (second.clone(), first));
    assert_eq!(plain(tables(&env)), plain(first_rows));
    assert_one_line(&env.run(&["snapshot", "rollback"]), 1, &["no earlier rows to roll back to"]);
    let pack = env.write("shown.json", &env.run(&["snapshot", "show", &second]).stdout);
    assert_eq!((env.run(&["import", &pack]).code, active(&env)), (0, second.clone()));
    assert_one_line(&env.run(&["snapshot", "activate", &second[..7]]), 1, &["at least 8 hexadecimal digits"]);
    assert_one_line(&env.run(&["snapshot", "activate", "00000000"]), 1, &["no snapshot begins with '00000000'"]);
}

#[test]
fn a_running_server_rolls_back_and_its_turns_continue() {
    let env = TestEnv::with_pack(&orders_pack());
    let reply = json!({"dialogueAct": "NEW_REQUEST", "confidence": 0.8, "standaloneQuery": ""});
    let model =
        format!("scripted:{}", env.write_pack("model.json", &json!([{"times": 1, "delay_ms": 4000, "reply": reply}, {"reply": reply}])));
    let words = ["--llm", &model, "--set", "convengine.flow.dialogue-act.resolute=LLM_ONLY", "--set", "convengine.config.follow=false"];
    let server = env.start(env.command(&SERVE).args(words));
    let first = running_hash(&server);
    let mut listener = Listener::open(&server);
    import(&env, &pack_with_reply("second"));
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| answer(&server, "my order"));
        listener.until(|event| event.name == "DIALOGUE_ACT_LLM_INPUT");
        assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
        let second = running_hash(&server);
        let rolled_back = server.request("POST", ROLLBACK, &[], "");
        assert_eq!((rolled_back.status, &rolled_back.json()["config"]), (200, &json!(first)), "{rolled_back:?}");
        assert_eq!(rolled_back.json()["tables"]["ce_response"]["changed"][0]["columns"]["exact_text"]["old"], "second");
        let activated = server.request("POST", &format!("{SNAPSHOTS}/{}/activate", &second[..10]), &[], "").json();
        // Both were compiled with the settings of this server and not with those of the importing command.
        assert_eq!((&activated["hash"], &activated["config"], &activated["settings"]), (&json!(second), &json!(second), &json!([])));
        assert!(!turn.is_finished(), "the model has not answered yet");
        assert_eq!(turn.join().unwrap(), "Your order is on its way.");
    });
    assert_eq!(answer(&server, "my order"), "second");
    let all = server.get(SNAPSHOTS).json();
    let marked: Vec<&Value> = all["snapshots"].as_array().unwrap().iter().filter(|it| it["active"] == true).collect();
    assert_eq!((marked.len(), &marked[0]["hash"]), (1, &all["active"]));
    // A snapshot with an error is rejected and changes nothing.
    let mut bad = pack_with_reply("bad");
    bad["tables"]["ce_intent_classifier"][1]["pattern"] = json!("(");
    import(&env, &bad);
    let broken = active(&env);
    import(&env, &pack_with_reply("good"));
    assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
    let before = env.sql().dump();
    let refused = server.request("POST", &format!("{SNAPSHOTS}/{broken}/activate"), &[], "");
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(refused.json()["issues"][0]["path"].as_str().unwrap().starts_with("ce_intent_classifier[2]"), "{refused:?}");
    assert_eq!(env.sql().dump(), before);
    assert_eq!(answer(&server, "my order"), "good");
    assert_eq!(server.request("POST", &format!("{SNAPSHOTS}/0000000000/activate"), &[], "").status, 404);
    assert_eq!(server.request("POST", &format!("{SNAPSHOTS}/x/activate"), &[], "").status, 404);
    let output = env.run(&["replay", "--conversation", ID]);
    assert_eq!(output.code, 0, "each turn has the configuration it ran with: {output:?}");
}

#[test]
fn servers_follow_the_activation_of_another_process() {
    let env = TestEnv::with_pack(&orders_pack());
    let server = env.serve(&REGEX_ONLY);
    let not_following = env.is_postgres().then(|| env.serve(&[&REGEX_ONLY[..], &["--set", "convengine.config.follow=false"]].concat()));
    let other = env.is_postgres().then(|| env.serve(&REGEX_ONLY));
    let takes = |server: &Server, text: &str| assert!(wait_until(|| answer(server, "my order") == text), "{text}: {}", server.log());
    import(&env, &pack_with_reply("second"));
    takes(&server, "second");
    other.iter().for_each(|it| takes(it, "second"));
    assert_eq!(env.run(&["snapshot", "rollback"]).code, 0);
    takes(&server, "Your order is on its way.");
    other.iter().for_each(|it| takes(it, "Your order is on its way."));
    // Rows that were edited by hand wait for a refresh; then all servers load them.
    env.sql().run("update ce_response set exact_text = 'by hand' where response_id = 1");
    let known = |other: &Server| running_hash(other) == running_hash(&server);
    assert_eq!(answer(&server, "my order"), "Your order is on its way.");
    assert_eq!(server.request("POST", REFRESH, &[], "").status, 200);
    assert_eq!(answer(&server, "my order"), "by hand");
    other.iter().for_each(|server| assert!(wait_until(|| known(server))));
    not_following.iter().for_each(|server| assert_eq!(answer(server, "my order"), "Your order is on its way."));
    // Rows with an error stay with the process that imported them.
    let mut bad = pack_with_reply("bad");
    bad["tables"]["ce_intent_classifier"][1]["pattern"] = json!("(");
    import(&env, &bad);
    assert!(wait_until(|| server.log().contains("ce_intent_classifier[2]")), "{}", server.log());
    assert_eq!(answer(&server, "my order"), "by hand");
}
