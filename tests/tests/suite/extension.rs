//! Extensions: the same bytes on the server and in a browser, and round trips of modules through packs and databases.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use convengine_core::pack::Pack;
use convengine_core::turn::{Completion, Effect, EffectClass, EffectId, ExtensionRequest, Request};
use convengine_effects::extension::{Extensions, run};
use convengine_host_base::pack_file;
use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::{root, target_folder};
use serde_json::{Value, json};

use crate::harness::{REGEX_ONLY, TestEnv, assert_one_line};

/// The example extension as `cargo xtask extension` builds it.
fn example_module() -> PathBuf {
    let file = target_folder().unwrap().join("wasm/wasm32-unknown-unknown/wasm-dev/fee_check.wasm");
    assert!(file.is_file(), "the extension is not built; run `cargo xtask extension` first");
    file
}

/// Assembles a guest; into a file of its own, because tests run concurrently.
pub fn build_guest(env: &TestEnv, name: &str) -> String {
    let text = fs::read_to_string(root().join("tests/guests").join(format!("{name}.wat"))).unwrap();
    let file = env.path(&format!("{name}.wasm"));
    fs::write(&file, wat::parse_str(text).unwrap()).unwrap();
    file.display().to_string()
}

fn guest_names() -> Vec<String> {
    let entries = fs::read_dir(root().join("tests/guests")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Runs the page with a script of its own tests; returns the printed lines.
fn browser(env: &TestEnv, arguments: &[&str]) -> Vec<String> {
    let server = env.serve(&[]);
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test/extension.mjs")).arg(format!("http://{}", server.address)).args(arguments);
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    printed.lines().map(str::to_owned).collect()
}

fn call(id: u32, extension: &str, pack: &Pack, messages: &Value) -> Effect {
    let rows = pack.tables.0.get("cv_extension").expect("rows");
    let row = rows.iter().find(|it| it["name"] == extension).unwrap();
    let request = ExtensionRequest {
        extension: extension.to_owned(),
        module: row["module"].as_str().unwrap().to_owned(),
        messages: serde_json::from_value(messages.clone()).unwrap(),
        memory_bytes: 4 << 20,
        timeout_ms: 500,
    };
    Effect {
        id: EffectId(id),
        key: format!("t/{id}"),
        class: EffectClass::Pure,
        deadline_ms: 500,
        stream: false,
        repeatable: true,
        request: Request::Extension(request),
    }
}

#[test]
#[on(browser)]
fn every_guest_behaves_in_the_browser_as_on_the_server() {
    let env = TestEnv::with_tables();
    let mut extensions = json!({"worked": {"file": example_module()}});
    for name in guest_names() {
        extensions[&name] = json!({"file": build_guest(&env, &name)});
    }
    let text = pack_file::read_text(env.write_pack("pack.json", &json!({"name": "n", "extensions": extensions})).as_ref()).unwrap();
    let pack = Pack::parse(&text).unwrap();
    let quote = json!({"abi": 1, "call": {"task": "feeTask:quote"}, "view": {"inputParams": {"requestedAmount": 1e4, "tenureMonths": 7}}});
    let reply = json!({"kind": "http", "status": 200, "body": "{\"percent\": 0.37, \"currency\": \"EUR\"}"});
    let answer = json!({"completions": [{"id": 0, "at": 5, "outcome": {"ok": reply}}]});
    let input = json!({"type": "TEXT", "value": "Schön."});
    let view = json!({"inputParams": {"feeQuote": {"fee": 1.005, "currency": "€"}}});
    let decorate = json!({"abi": 1, "call": {"task": "feeTask:decorate", "transform": "final"}, "input": input, "view": view});
    let of_worked = [json!([quote]), json!([quote, answer]), json!([decorate]), json!([{"abi": 1, "call": {"task": "none"}}])];
    let mut effects: Vec<Effect> = Vec::new();
    for messages in &of_worked {
        effects.push(call(effects.len() as u32, "worked", &pack, messages));
    }
    for name in guest_names() {
        effects.push(call(effects.len() as u32, &name, &pack, &json!([{"abi": 1, "é": 1.0}, {"completions": []}])));
    }
    let server = Extensions::from_modules(pack.modules.clone());
    let expected: Vec<String> = effects.iter().map(|it| completion(&server, it)).collect();
    assert!(expected[1].contains(r#""feeQuote":{"currency":"EUR","fee":25.0}"#), "{}", expected[1]);
    assert!(expected[2].contains("Schön. The fee is "), "{}", expected[2]);
    let effects: Vec<String> = effects.iter().map(|effect| serde_json::to_string(effect).unwrap()).collect();
    let job = env.write_pack("job.json", &json!({"pack": text, "effects": effects}));
    let found = browser(&env, &["calls", &job]);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

fn completion(server: &Extensions, effect: &Effect) -> String {
    let Request::Extension(request) = &effect.request else { panic!("{effect:?}") };
    serde_json::to_string(&Completion { id: effect.id, at: 0, outcome: run(server, request) }).unwrap()
}

/// The example extension beside its pack.
fn fee_check(env: &TestEnv) -> (String, String) {
    let module = env.path("fee_check.wasm");
    fs::copy(example_module(), &module).unwrap();
    let text = fs::read_to_string(root().join("tests/packs/extension/fee_check.json")).unwrap();
    (env.write("fee_check.json", &text), module.display().to_string())
}

const REPLY: &str = "We can do that. The fee is 300.00 EUR.";

#[test]
#[on(browser)]
fn a_module_dropped_onto_the_page_in_the_browser_runs_its_tasks() {
    let env = TestEnv::with_tables();
    let (pack, module) = fee_check(&env);
    let params = r#"{"requestedAmount": 10000, "tenureMonths": 24}"#;
    let bad = build_guest(&env, "imports");
    let text = env.write("note.txt", "hello");
    let lines = browser(&env, &["drop", &pack, "what is the fee", params, &text, &bad, &module]);
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["status"].as_str().unwrap().contains("'note.txt' is not an extension"), "{lines:?}");
    assert_eq!(lines[1]["status"], "the extension 'imports' imports 'env.now': build it without imports");
    let taken = lines[2]["status"].as_str().unwrap();
    let hash = Pack::parse(&pack_file::read_text(pack.as_ref()).unwrap()).unwrap().modules.into_keys().next().unwrap();
    for words in ["fee_check", " KB", &hash[..12], "runs feeTask:quote, feeTask:decorate"] {
        assert!(taken.contains(words), "{words} in {taken}");
    }
    assert_eq!(lines[3]["chat"], REPLY);
}

#[test]
#[ignore = "needs the example extension; `cargo xtask test` builds it"]
fn a_bound_task_behaves_in_the_core_and_on_the_server_as_in_the_browser() {
    let env = TestEnv::with_tables();
    let (file, _) = fee_check(&env);
    let pack = pack_file::read(file.as_ref()).unwrap();
    for suspend in [Suspend::Never, Suspend::Always] {
        let played = CorePlayer::new(&pack, suspend).play(0).unwrap().played;
        assert_eq!(played.json["payload"]["value"], REPLY, "{:?}", played.json);
        assert_eq!(played.conversation["input_params_json"]["feeQuote"], json!({"currency": "EUR", "fee": 300.0}));
    }
    assert_eq!(env.run(&["import", &file]).code, 0);
    let server = env.serve(&REGEX_ONLY);
    let body = &pack.turns[0].request.as_ref().unwrap().body;
    assert_eq!(server.post(body.to_string()).json()["payload"]["value"], REPLY);
    drop(server);
    let output = env.run(&["replay", "--conversation", body["conversationId"].as_str().unwrap()]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
}

#[test]
fn a_module_survives_a_database_round_trip() {
    let env = TestEnv::with_tables();
    build_guest(&env, "answers");
    let manifest = json!({"file": "answers.wasm", "requests": ["http"], "hosts": ["a.example:443"], "memory_mib": 2, "description": "d"});
    let file = env.write_pack("pack.json", &json!({"name": "n", "extensions": {"answers": manifest}}));
    let imported = env.run(&["import", &file]);
    assert_eq!((imported.code, imported.stdout.as_str()), (0, "imported 1 row into 1 table\n"), "{imported:?}");
    let exported = env.run(&["export"]).stdout;
    let pack: Value = serde_json::from_str(&exported).unwrap();
    assert!(pack["tables"].get("cv_extension").is_none(), "{pack}");
    let of_pack = &pack["extensions"]["answers"];
    assert_eq!((&of_pack["requests"], &of_pack["memory_mib"], &of_pack["description"]), (&json!(["http"]), &json!(2), &json!("d")));
    let elsewhere = TestEnv::new();
    assert_eq!(elsewhere.run(&["import", &elsewhere.write("export.json", &exported)]).code, 0);
    let stored = |env: &TestEnv| {
        let mut sql = env.sql();
        let module = format!("select sha256 || {} from cv_module", sql.hex_expression("bytes"));
        [sql.texts("select concat_ws('|', name, module, hosts) from cv_extension"), sql.texts(&module)]
    };
    assert_eq!(stored(&elsewhere), stored(&env));
    assert_eq!(stored(&env).map(|it| it.len()), [1, 1]);
    assert_eq!(elsewhere.run(&["export"]).stdout, exported);
    assert_eq!(env.run(&["import", &env.write_pack("none.json", &json!({"name": "n", "tables": {"cv_extension": []}}))]).code, 0);
    // A snapshot names the module, which can be restored.
    assert_eq!(stored(&env).map(|it| it.len()), [0, 1]);
    assert_eq!(env.run(&["snapshot", "rollback"]).code, 0);
    assert_eq!(stored(&env), stored(&elsewhere));
}

#[test]
fn an_invalid_module_is_rejected_and_changes_nothing() {
    let env = TestEnv::with_pack(&json!({"name": "n", "tables": {}}));
    let before = env.sql().dump();
    let refused = |pack: Value, words: &[&str]| {
        let file = env.write_pack("bad.json", &pack);
        assert_one_line(&env.run(&["import", &file]), 1, words);
        assert_one_line(&env.run(&["lint", &file]), 1, words);
    };
    let of_file = |file: &str| json!({"name": "n", "extensions": {"bad": {"file": file}}});
    refused(of_file(&build_guest(&env, "imports")), &["extensions.bad: the module imports 'env.now': build it without imports"]);
    refused(of_file(&build_guest(&env, "no_resume")), &["extensions.bad: the module does not export 'conv_resume'"]);
    refused(of_file(&env.write("text.wasm", "hello")), &["extensions.bad: the module is not a WebAssembly module"]);
    refused(of_file("gone.wasm"), &["cannot read ", "gone.wasm"]);
    refused(json!({"name": "n", "extensions": {"bad": {}}}), &["extensions.bad: missing module"]);
    let row = json!({"name": "bare", "module": "0".repeat(64)});
    refused(json!({"name": "n", "tables": {"cv_extension": [row]}}), &["cv_extension.bare: missing module"]);
    assert_eq!(env.sql().dump(), before);
}
