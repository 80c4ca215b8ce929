//! The page as a designer uses it, in a real Chromium.

use std::collections::BTreeMap;
use std::process::Command;

use convengine_core::pack::Pack;
use convengine_core::turn::{EffectErrorKind, Outcome, Request};
use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::simulate::fault::Fault;
use convengine_tests::simulate::run::{run_baseline, run_with_fault};
use convengine_tests::{demo, root};
use serde_json::{Value, json};

use crate::harness::TestEnv;

/// The lines of a script, by their members.
pub type Lines = BTreeMap<String, Vec<Value>>;

/// Runs the script that uses the page against a server.
pub fn run_page(address: &str, arguments: &[&str]) -> Lines {
    run_script("simulator.mjs", address, arguments)
}

/// Runs a script of the page against a server.
pub fn run_script(name: &str, address: &str, arguments: &[&str]) -> Lines {
    let mut command = Command::new("node");
    command.arg(root().join("web-demo/test").join(name)).arg(format!("http://{address}")).args(arguments);
    let output = command.output().expect("cannot start node");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = Lines::new();
    for line in printed.lines() {
        let members: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        for (name, value) in members {
            lines.entry(name).or_default().push(value);
        }
    }
    lines
}

/// A member of each turn.
pub fn members_of<'v>(turns: &'v Value, member: &str) -> Vec<&'v Value> {
    turns.as_array().unwrap().iter().map(|it| &it[member]).collect()
}

/// The hashes of a pack's first turns in the core.
pub fn hashes(pack: &Pack, turns: usize) -> Vec<String> {
    let mut player = CorePlayer::new(pack, Suspend::Never);
    (0..turns).map(|turn| player.play(turn).unwrap().hash).collect()
}

/// What the page shows at the end of a turn: the reply or fault, the error code, and intent and state.
fn visible_outcome(outcome: &Outcome) -> [String; 3] {
    let reply = outcome.payload.as_ref().map(|it| it.value.clone());
    let fault = outcome.fault.as_ref();
    let position: Vec<&str> = [&outcome.intent, &outcome.state].into_iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    [
        reply.or_else(|| Some(fault?.message.clone())).unwrap(),
        fault.map_or_else(|| "none".to_owned(), |it| it.code.clone()),
        position.join(" / "),
    ]
}

/// The branch shares three turns with the played conversation, and only its own turn calls its model.
fn assert_branch_at_turn_four(lines: &BTreeMap<String, Vec<Value>>) {
    let (played, branched) = (&lines["played"][0], &lines["branched"][0]);
    assert_eq!(members_of(branched, "hash")[..3], members_of(played, "hash")[..3], "the turns before it are shared");
    assert_eq!(branched[3]["reply"], "All right, nothing has been handed in. What would you like to change?");
    assert_eq!(lines["asked"][0], json!(["no", "no"]), "only the turn that says no calls its model");
}

#[test]
#[on(browser)]
fn a_branch_of_the_loan_in_the_browser_repeats_no_request_of_shared_turns() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["branch"]);
    let played = &lines["played"][0];
    let states = ["WELCOME", "COLLECT_DETAILS", "CONFIRM_DETAILS", "CONFIRM_DETAILS", "COMPLETED"];
    assert_eq!(members_of(played, "state"), states);
    let core = hashes(&demo("loan.json").unwrap().pack, 5);
    assert_eq!(members_of(played, "hash"), core.iter().collect::<Vec<_>>(), "the sample runs as the core does");
    assert_branch_at_turn_four(&lines);
    let branches = lines["branches"][0].as_str().unwrap();
    assert!(branches.contains("4 turns, 3 shared, 0 new model calls"), "{branches}");
}

#[test]
#[on(browser)]
fn an_engine_crash_in_the_browser_loses_no_completed_turn() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["stopped"]);
    assert_branch_at_turn_four(&lines);
    let remark = lines["remark"][0].as_str().unwrap();
    assert!(remark.starts_with("The engine stopped (unreachable) and was restarted."), "{remark}");
}

#[test]
#[on(browser)]
fn a_link_brings_both_branches_and_both_packs_to_another_browser() {
    let case = demo("card_replacement.json").unwrap();
    let server = TestEnv::new().serve(&[]);
    let file = case.path.display().to_string();
    let lines = run_page(&server.address, &["shared", &file, "Your card is blocked", "Your card has been blocked"]);
    let here = lines["here"][0].as_array().unwrap();
    assert_ne!(here[0], here[1], "the edit makes a difference");
    assert_eq!(lines["there"][0], lines["here"][0]);
    assert_eq!(lines["remarks"][0], json!([]));
}

#[test]
#[on(browser)]
fn a_waiting_turn_in_the_browser_does_not_block_editing_and_leaving() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["waiting"]);
    assert_eq!(lines["linted"][0], 1, "the turn still waits while its pack is linted");
    let played = members_of(&lines["sample"][0], "hash");
    assert!(played.len() > 5 && played.iter().all(|it| *it != ""), "{played:?}");
    assert_eq!(lines["asking"][0], 0);
}

#[test]
#[on(browser)]
fn a_recorded_conversation_in_the_browser_ends_with_equal_state_and_becomes_a_test() {
    let case = demo("loan.json").unwrap();
    let pack = serde_json::to_value(&case.pack).unwrap();
    let env = TestEnv::with_pack(&pack);
    let file = case.path.display().to_string();
    let server = env.serve(&["--llm", &format!("scripted:{file}")]);
    let id = "4aecbdd6-962b-5aa1-8e77-cf43ef25dc33";
    for turn in &case.pack.turns[..3] {
        let body = &turn.request.as_ref().unwrap().body;
        let answer = server.post(body.to_string()).json();
        assert_eq!(answer["success"], true, "{answer}");
    }
    let folder = env.path("").display().to_string();
    let lines = run_page(&server.address, &["recorded", id, &folder]);
    assert_eq!(lines["verdict"][0], "✓ All 3 turns end with the recorded state hash.");
    assert_eq!(lines["equal"][0], 3);
    let taken = &lines["taken"][0];
    assert_eq!(members_of(taken, "state"), ["WELCOME", "COLLECT_DETAILS", "CONFIRM_DETAILS"]);
    let talk = lines["files"][0].as_array().unwrap().iter().filter_map(Value::as_str).find(|it| it.ends_with(".talk")).unwrap();
    let talk = env.path(talk).display().to_string();
    let passed = env.run(&["test", &talk]);
    assert_eq!(passed.code, 0, "{passed:?}");
    let config = talk.replace(".talk", ".json");
    let changed = std::fs::read_to_string(&config).unwrap().replace("@.schemaComplete == true", "@.schemaComplete == false");
    std::fs::write(&config, changed).unwrap();
    let failed = env.run(&["test", &talk]);
    assert_eq!(failed.code, 1, "another rule fails the test: {failed:?}");
    assert!(failed.stdout.contains("CONFIRM_DETAILS"), "{failed:?}");
}

#[test]
#[on(browser)]
fn the_page_in_the_browser_opens_on_a_played_sample_and_tells_conversations_apart() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["story"]);
    let core = hashes(&demo("loan.json").unwrap().pack, 5);
    assert_eq!(members_of(&lines["opened"][0], "hash"), core.iter().collect::<Vec<_>>());
    assert_eq!((&lines["view"][0], &lines["headings"][0]), (&json!("Table"), &json!([])));
    assert!(lines["rows"][0].as_u64() > Some(1) && lines["timeline"][0].as_u64() > Some(1), "nothing is empty");

    assert_eq!(lines["played"][0], json!(["Conversation: main", "Conversation: second thoughts"]));
    let started = |changes: &Value| {
        changes.as_array().unwrap().iter().filter(|change| change.as_str().unwrap().ends_with("conversation started")).count()
    };
    assert_eq!(started(&lines["changes"][0]), 2, "one for each conversation: {}", lines["changes"][0]);
    assert_eq!((&lines["cancelled"][0], &lines["after"][0]), (&json!("STOPPED"), &json!("CONFIRM_DETAILS")));
    assert_eq!(lines["later"], lines["changes"], "a cancelled turn changes nothing");
}

#[test]
#[on(browser)]
fn the_browser_keeps_long_sessions_and_says_when_it_cannot() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["stored"]);
    assert_eq!(lines["untouched"][0], 0, "the sample that the page opens with is not stored");
    assert_eq!((&lines["adopted"][0], &lines["legacy"][0]), (&json!([["latest", ["fragment"]]]), &Value::Null));
    assert!(lines["length"][0].as_u64() > Some(64 << 10), "longer than a link can be");
    assert_eq!((&lines["equal"][0], &lines["offered"][0]), (&json!(true), &json!(0)));
    assert!(lines["refused"][0].as_str().unwrap().contains("its storage is full"), "{:?}", lines["refused"]);
}

#[test]
#[on(browser)]
fn an_exported_talk_opens_in_the_browser_and_runs_as_the_core_does() {
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["talks"]);
    let pasted = &lines["pasted"];
    assert_eq!(pasted.len(), 6, "one for each sample");
    for result in pasted {
        assert!(result["equal"] == true && result["verdict"].as_str().unwrap().starts_with("✓ The talk was played"), "{result}");
    }
    assert_eq!(lines["chosen"][0], "✓ The talk was played, and all 5 turns meet its checks.");
    let config = std::fs::read_to_string(demo("loan.json").unwrap().path).unwrap();
    let talk = Pack::parse_talk(lines["talk"][0].as_str().unwrap(), |_| Ok(config.clone())).unwrap();
    assert_eq!(lines["hashes"][0], json!(hashes(&talk, 5)));
    let dropped = lines["dropped"][0].as_str().unwrap();
    assert!(dropped.contains("Turn 3: the reply is") && dropped.contains("customer 9999"), "{dropped}");
    assert!(lines["refused"][0].as_str().unwrap().starts_with("line 3: expected an indented answer"));
}

#[test]
#[on(browser)]
fn an_edited_row_in_the_browser_changes_the_hashes_as_it_does_in_the_core() {
    let case = demo("card_replacement.json").unwrap();
    let text = std::fs::read_to_string(&case.path).unwrap();
    let (from, to) = ("Your card is blocked", "Your card has been blocked");
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["edited", &case.path.display().to_string(), from, to]);
    let core = |text: &str| {
        let pack = Pack::parse(text).unwrap();
        hashes(&pack, pack.turns.len())
    };
    assert!(text.contains(from));
    let (before, after) = (core(&text), core(&text.replace(from, to)));
    assert_ne!(before, after);
    assert_eq!(lines["hashes"], [json!(before), json!(after)]);
}

#[test]
#[on(browser)]
fn a_cell_edited_in_the_browser_gives_the_same_turns_as_the_core() {
    let case = demo("card_replacement.json").unwrap();
    let (table, column, from, to) = ("ce_response", "exact_text", "Your card is blocked", "Your “card” has been blocked");
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["row", &case.path.display().to_string(), table, column, from, to]);
    let mut edited: Value = serde_json::from_str(&std::fs::read_to_string(&case.path).unwrap()).unwrap();
    let rows = edited["tables"][table].as_array_mut().unwrap().iter_mut();
    let cells: Vec<&mut Value> = rows.filter_map(|it| it.get_mut(column)).filter(|cell| cell.as_str().unwrap().contains(from)).collect();
    let [cell] = <[&mut Value; 1]>::try_from(cells).expect("one row has the text");
    *cell = json!(cell.as_str().unwrap().replace(from, to));
    let edited = Pack::parse(&edited.to_string()).unwrap();
    let turns = case.pack.turns.len();
    let (before, after) = (hashes(&case.pack, turns), hashes(&edited, turns));
    assert_ne!(before, after);
    assert_eq!(lines["hashes"], [json!(before), json!(after)]);
}

#[test]
#[on(browser)]
fn a_broken_pattern_in_the_browser_is_located_while_typed_and_clears_when_fixed() {
    let case = demo("help_desk.json").unwrap();
    let text = std::fs::read_to_string(&case.path).unwrap();
    let line = |row: u32| 1 + text.lines().position(|line| line.contains(&format!("\"rule_id\": {row},"))).unwrap();
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["broken", "41", "missing|gone)", "(a)"]);
    let core_issue = |pattern: &str| {
        let mut pack: Value = serde_json::from_str(&text).unwrap();
        let rows = pack["tables"]["ce_rule"].as_array_mut().unwrap();
        rows.iter_mut().find(|row| row["rule_id"] == 41).unwrap()["match_pattern"] = json!(pattern);
        let player = CorePlayer::new(&Pack::parse(&pack.to_string()).unwrap(), Suspend::Never);
        player.issues.iter().find(|issue| issue.path == "ce_rule[41].match_pattern").map(|issue| issue.reason.clone())
    };
    assert_eq!((lines["cell"].len(), lines["text"].len()), (3, 3), "one for each key");
    for (seen, typed) in lines["cell"].iter().zip(["(", "(a", "(a)"]) {
        assert_eq!((&seen["typing"], &seen["value"]), (&json!(true), &json!(typed)), "the focus has not moved: {seen}");
        let core = core_issue(typed);
        assert_eq!(core.is_some(), typed != "(a)");
        assert_eq!(seen["invalid"], core.is_some(), "{seen}");
        assert_eq!(seen["found"], core.as_ref().map_or(String::new(), |it| format!("error: {it}")));
        let location = format!("ce_rule[41].match_pattern, line {}", line(41));
        assert_listed(seen, core.map(|it| [location, it]));
    }
    for (seen, typed) in lines["text"].iter().zip(["(", "(a", "(a)"]) {
        assert_eq!(seen["typing"], true, "{seen}");
        let (line, broken) = (line(40).to_string(), typed != "(a)");
        assert_eq!(seen["cursor"], line);
        assert_eq!(seen["gutter"], if broken { json!([line]) } else { json!([]) }, "{seen}");
        assert_eq!(seen["marked"].as_array().unwrap().len(), usize::from(broken));
        if broken {
            let marked = seen["marked"][0].as_str().unwrap();
            assert!(marked.contains("\"rule_id\": 40,") && marked.contains(&format!("gone){typed}\\\\b")), "{marked}");
        }
        assert_listed(seen, broken.then(|| [format!("ce_rule[40].match_pattern, line {line}"), "without closing parenthesis".to_owned()]));
    }
}

/// Asserts that the list of issues has one entry with these words, or none.
fn assert_listed(seen: &Value, words: Option<[String; 2]>) {
    let listed = seen["issues"].as_array().unwrap();
    assert_eq!(listed.len(), usize::from(words.is_some()), "{seen}");
    for (issue, words) in listed.iter().zip(words) {
        assert!(words.iter().all(|word| issue.as_str().unwrap().contains(word)), "{issue} {words:?}");
    }
}

#[test]
#[on(browser)]
fn each_effect_failed_in_the_browser_behaves_as_in_the_core() {
    let case = demo("loan.json").unwrap();
    let server = TestEnv::new().serve(&[]);
    let lines = run_page(&server.address, &["failures", "2,5", "Tool loan.application.submit", "Connection refused"]);
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    let mut shown = lines["rows"].iter();
    let mut refused = None;
    for number in 1..=5 {
        let expected = run_baseline(&mut player, number - 1).unwrap();
        let after = player.checkpoint();
        if [2, 5].contains(&number) {
            let rows = shown.next().unwrap().as_array().unwrap();
            assert_eq!(rows.len(), expected.run.answered.len(), "a row for each effect of turn {number}");
            for (at, (row, answered)) in rows.iter().zip(&expected.run.answered).enumerate() {
                let run = run_with_fault(&mut player, &expected, at, Fault::Error(EffectErrorKind::Timeout)).unwrap();
                let requests: Vec<&Request> = expected.run.answered.iter().map(|it| &it.effect.request).collect();
                assert_eq!(row["Effect"], numbered_title(&requests, at));
                let [reply, code, position] = visible_outcome(&run.outcome);
                assert!(!reply.is_empty());
                let core = json!([reply, code, position]);
                assert_eq!(json!([row["Reply"], row["Error code"], row["State"]]), core, "turn {number}, effect {at}");
                if title(&answered.effect.request) == "Tool loan.application.submit" {
                    let run = run_with_fault(&mut player, &expected, at, Fault::Error(EffectErrorKind::Unavailable)).unwrap();
                    refused = Some((at, run.outcome));
                }
            }
        }
        player.rewind(&after);
        player.commit(&expected.run.outcome);
    }
    assert_eq!(lines["back"], ["Turn 2", "Turn 5"], "the focus is unchanged");
    let (at, outcome) = refused.unwrap();
    let [reply, ..] = visible_outcome(&outcome);
    let (before, branched) = (&lines["before"][0], &lines["branched"][0]);
    assert_eq!(members_of(branched, "hash")[..4], members_of(before, "hash")[..4], "the turns before it are shared");
    assert_eq!(lines["reason"][0], "↳ Branch: tool loan.application.submit: Connection refused");
    assert_eq!((&lines["read"][0], &branched[4]["reply"]), (&json!(reply), &json!(reply)));
    assert_ne!(branched[4]["reply"], before[4]["reply"]);
    let origins = branched[4]["origins"].as_array().unwrap();
    assert!(origins[..at].iter().all(|it| it == "reused") && origins[at] == "fault", "{origins:?}");
    assert_eq!(lines["failed"][0].as_array().unwrap()[..2], [json!("Tool"), json!("loan.application.submit")]);
}

/// The title of an effect on the page; equal titles of a turn are numbered.
fn numbered_title(requests: &[&Request], at: usize) -> String {
    let found = title(requests[at]);
    let equal: Vec<usize> = (0..requests.len()).filter(|index| title(requests[*index]) == found).collect();
    match equal.iter().position(|it| *it == at) {
        Some(index) if equal.len() > 1 => format!("{found} #{}", index + 1),
        _ => found,
    }
}

/// The title of an effect on the page.
fn title(request: &Request) -> String {
    match request {
        Request::Llm(it) => format!("Model {}", it.purpose),
        Request::Tool(it) => format!("Tool {}", it.tool_code.as_deref().unwrap_or(&it.tool_group)),
        other => panic!("the loan has no such request: {other:?}"),
    }
}
