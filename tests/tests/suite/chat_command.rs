//! `convengine chat` as a process: lines come in, answers go out, and what was said becomes a talk that passes.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use convengine_test_macros::test;
use convengine_tests::server_binary;
use serde_json::{Value, json};

use crate::harness::{CommandOutput, assert_one_line, orders_pack};

/// A command in a folder, without variables that would change what it does.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(server_binary().unwrap());
    for variable in ["CONVENGINE_DATABASE", "CONVENGINE_LLM", "CONVENGINE_SET", "CONVENGINE_SETTINGS", "CONVENGINE_TENANT"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command with this input.
fn output_of(command: &mut Command, input: &str) -> Output {
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments reads nothing, and its end of the pipe may be closed by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn run(folder: &Path, arguments: &[&str], input: &str) -> CommandOutput {
    let output = output_of(&mut command(folder, arguments), input);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A folder with the pack of orders.
fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.json"), orders_pack().to_string()).unwrap();
    folder
}

/// The pack of orders, which asks a model about everything else.
fn pack_with_model() -> Value {
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][1] =
        json!({"response_id": 2, "intent_code": "OTHER", "state_code": "ANY", "output_format": "TEXT", "response_type": "DERIVED"});
    pack["tables"]["ce_prompt_template"] = json!([{"template_id": 1, "intent_code": "OTHER", "state_code": "ANY", "output_format": "TEXT",
        "interaction_mode": "FINAL", "system_prompt": "You answer.", "user_prompt": "{{user_input}}"}]);
    pack
}

/// Fails unless a talk passes.
#[track_caller]
fn assert_passes(folder: &Path, talk: &str) {
    let tested = run(folder, &["test", talk], "");
    let text = fs::read_to_string(folder.join(talk)).unwrap();
    assert_eq!((tested.code, tested.stdout.lines().last()), (0, Some("1 passed, 0 failed")), "{tested:?}\n{text}");
}

#[test]
#[on(no_database)]
fn tables_answer_each_line() {
    let folder = shop();
    let input = "where is my order?\n\n  hello  \n{\"message\": \"hello\", \"inputParams\": {\"note\": \" today\"}}\n/quit\nmy order\n";
    let output = run(folder.path(), &["chat", "shop.json"], input);
    let expected = "Your order is on its way.\n\nAsk me about orders.\n\nAsk me about orders today.\n";
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, expected, ""));
    // The pack of the folder, and a line without an end.
    let output = run(folder.path(), &["chat"], "my order");
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "Your order is on its way.\n", ""));
    let output = run(folder.path(), &["chat", "--save", "empty.talk"], "");
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(!folder.path().join("empty.talk").exists(), "a talk without a message");
}

#[test]
#[on(no_database)]
fn an_assistant_speaks_first_and_what_was_said_is_a_talk() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["init", "surgery", "--kind", "assistant"], "").code, 0);
    let project = folder.path().join("surgery");
    let input = "I need an appointment for a check-up\non Thursday\nhalf past ten\n/press yes\n/start {\"locale\": \"en-GB\"}\nwhat are your hours?\n";
    let arguments = ["chat", "--at", "2031-06-02T09:00:00Z", "--save", "talks/new.talk"];
    let output = run(&project, &arguments, input);
    let expected = "Hello. I can book an appointment or tell you when we are open.\n\n\
                    On which day?\n\n\
                    At what time?\n\n\
                    A check-up on 2031-06-05 at 10:30. Shall I book it?\n  [Yes] /press yes\n  [No] /press no\n\n\
                    Booked: a check-up on 2031-06-05 at 10:30.\n\n\
                    Hello. I can book an appointment or tell you when we are open.\n\n\
                    We are open from 9 to 17, Monday to Friday.\n";
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, expected, ""));
    assert_passes(&project, "talks/new.talk");
    let talk = fs::read_to_string(project.join("talks/new.talk")).unwrap();
    for part in [
        "\nname    new\nconfig  ../assistant.json\nprogram flow surgery\nat      2031-06-02T09:00:00Z\n\n> /start\n< Hello.",
        "\n> /press yes\n< Booked: a check-up on 2031-06-05 at 10:30.\n",
        "\n> @2 /start {\"locale\": \"en-GB\"}\n< Hello.",
        "\n> @2 what are your hours?\n",
    ] {
        assert!(talk.contains(part), "{part} in {talk}");
    }
    // A talk stands for its pack, whose conversation begins anew.
    let of_talk = run(&project, &["chat", "talks/new.talk"], "I need an appointment for a check-up\n/start {\non Monday\n");
    let replies: Vec<&str> = of_talk.stdout.lines().filter(|it| !it.is_empty()).collect();
    assert_eq!((of_talk.code, &replies[1..]), (0, &["On which day?", "At what time?"][..]), "an invalid start begins nothing");
    assert!(of_talk.stderr.starts_with("invalid message: line 2, column "), "{of_talk:?}");
    assert_one_line(&run(&project, &arguments, input), 2, &["--save talks/new.talk", "exists"]);
    assert_eq!(fs::read_to_string(project.join("talks/new.talk")).unwrap(), talk);
}

#[test]
#[on(no_database)]
fn a_failed_turn_does_not_end_the_conversation() {
    let folder = shop();
    fs::write(folder.path().join("model.json"), pack_with_model().to_string()).unwrap();
    let input = "my order\nhello\n{\"message\": 5}\n{\"message\n@b my order\n";
    let output = run(folder.path(), &["chat", "model.json", "--save", "failed.talk"], input);
    let replies: Vec<&str> = output.stdout.lines().filter(|it| !it.is_empty()).collect();
    assert_eq!((output.code, replies.len()), (0, 3), "{output:?}");
    assert!(replies[1].starts_with("error LLM_CALL_FAILED: "), "{output:?}");
    assert_eq!([replies[0], replies[2]], ["Your order is on its way."; 2]);
    let errors: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(errors.len(), 2, "{output:?}");
    assert!(errors[0].starts_with("line 3: ") && errors[1].starts_with("invalid message: line 4, column "), "{output:?}");
    assert_passes(folder.path(), "failed.talk");
    assert!(fs::read_to_string(folder.path().join("failed.talk")).unwrap().contains("\n> hello\n! LLM_CALL_FAILED\n"));
}

#[test]
#[on(no_database)]
fn answers_are_printed_as_json_and_with_reasons() {
    let folder = shop();
    let reason = "chosen: ce_response 1 'Your order is on its way.'";
    let why = run(folder.path(), &["chat", "--why"], "my order\n");
    assert_eq!((why.code, why.stdout.lines().next()), (0, Some("Your order is on its way.")));
    assert!(why.stdout.contains(reason), "{why:?}");

    let answers = |arguments: &[&str]| -> Vec<Value> {
        let output = run(folder.path(), arguments, "my order\nhello\n");
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let plain = answers(&["chat", "--json"]);
    let intents: Vec<&Value> = plain.iter().map(|it| &it["intent"]).collect();
    assert_eq!(json!(intents), json!(["ORDERS", "OTHER"]));
    assert_eq!(plain[0]["payload"]["value"], "Your order is on its way.");
    assert!(plain.iter().all(|it| it["success"] == true && it.get("why").is_none()), "{plain:?}");
    let explained = answers(&["chat", "--json", "--why"]);
    let lines: Vec<&str> = explained[0]["why"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(lines.iter().any(|line| line.contains(reason)), "{lines:?}");
}

/// An editor and `dev` run the pack with these settings, so they change the turns here, too, and those of the saved talk.
#[test]
#[on(no_database)]
fn settings_beside_the_file_change_turns() {
    let folder = shop();
    let matched = |arguments: &[&str], place: &Path| {
        let output = run(place, &[&["chat", "--why"][..], arguments].concat(), "my order\n");
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        output.stdout.lines().any(|line| line.trim() == "matched: 'order'")
    };
    assert!(!matched(&[], folder.path()));
    let settings = "listen = \"127.0.0.1:0\"\n[convengine.flow.guardrail]\nrequire-approval-for-sensitive-actions = true\n\
                    sensitive-patterns = [\"order\"]\n[convengine.files.roots]\ntalks = \"talks\"\n";
    fs::create_dir(folder.path().join("talks")).unwrap();
    fs::write(folder.path().join("convengine.toml"), settings).unwrap();
    assert!(matched(&["--save", "guarded.talk"], folder.path()));
    let talk = fs::read_to_string(folder.path().join("guarded.talk")).unwrap();
    let set: Vec<&str> = talk.lines().filter(|line| line.starts_with("set ")).collect();
    assert_eq!(set.len(), 2, "{talk}");
    assert!(set.contains(&"set     flow.guardrail.sensitive-patterns=[\"order\"]"), "{talk}");
    assert_passes(folder.path(), "guarded.talk");
    // Paths in the settings are relative to their folder, others to this one.
    let other = folder.path().join("talks");
    assert!(matched(&["../shop.json", "--save", "here.talk"], &other));
    assert!(fs::read_to_string(other.join("here.talk")).unwrap().contains("\nconfig  ../shop.json\n"));
    fs::write(folder.path().join("convengine.toml"), "[convengine.flow.guardrail]\nsensitive-pattern = []\n").unwrap();
    assert_eq!(run(folder.path(), &["chat"], "my order\n").code, 2);
}

#[test]
#[on(no_database)]
fn a_configuration_that_cannot_be_read_is_told_as_test_tells_it() {
    let folder = shop();
    let nameless = json!({"doc": "conversation_flow", "schema_version": "1.0", "id": "a"}).to_string();
    let empty = json!({"doc": "conversation_flow", "schema_version": "1.0", "id": "a", "name": "A"}).to_string();
    let files =
        [("text.json", "{"), ("nlu.yml", "version: \"3.1\"\nnlu:\n"), ("nameless.json", nameless.as_str()), ("empty.json", empty.as_str())];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for name in files.map(|it| it.0).into_iter().chain(["nowhere.json"]) {
        let output = run(folder.path(), &["chat", name], "hello\n");
        assert_one_line(&output, 1, &[]);
        let tested = run(folder.path(), &["test", name], "");
        assert!(tested.stdout.contains(output.stderr.trim()), "{output:?}\n{tested:?}");
    }
}

#[test]
#[on(no_database)]
fn arguments_that_fit_nothing_are_refused_before_anything_is_said() {
    let folder = shop();
    let place = folder.path();
    let document = json!({"doc": "conversation_flow", "schema_version": "1.0", "id": "a", "name": "A"}).to_string();
    let talk = "config shop.json\n> my order\n< Your order is on its way.\n";
    for (name, text) in [("document.json", document.as_str()), ("old.talk", talk)] {
        fs::write(place.join(name), text).unwrap();
    }
    let cases: [(&[&str], &[&str]); 6] = [
        (&["chat", "shop.json", "--at", "noon"], &["--at", "noon"]),
        (&["chat", "shop.json", "--save", "new.txt"], &["--save new.txt", ".talk"]),
        (&["chat", "shop.json", "--save", "old.talk"], &["--save old.talk", "exists"]),
        (&["chat", "shop.json", "--save", "nowhere/new.talk"], &["--save nowhere/new.talk"]),
        (&["chat", "old.talk", "--save", "new.talk"], &["--save new.talk", "a pack"]),
        (&["chat", "document.json", "--save", "new.talk"], &["--save new.talk", "a pack"]),
    ];
    for (arguments, words) in cases {
        assert_one_line(&run(place, arguments, "hello\n"), 2, words);
    }
    fs::write(place.join("other.json"), orders_pack().to_string()).unwrap();
    assert_one_line(&run(place, &["chat"], "hello\n"), 2, &["other.json, shop.json"]);
    let empty = tempfile::tempdir().unwrap();
    assert_one_line(&run(empty.path(), &["chat"], "hello\n"), 2, &["convengine init"]);
    assert!(!place.join("new.talk").exists() && fs::read_to_string(place.join("old.talk")).unwrap() == talk);
}

#[test]
#[on(no_database)]
fn nobody_has_to_read_the_answers() {
    let folder = shop();
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for option in ["--json", "--why"] {
        let output = output_of(command(folder.path(), &["chat", option]).stdout(closed()), "my order\nhello\n");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && errors.is_empty(), "{option}: {output:?}");
    }
}
