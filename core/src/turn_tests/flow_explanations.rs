//! Tests of the explanations that an observed turn of a flow records, on talks of `tests/packs/flow`.

use std::sync::Arc;

use convengine_pack::{Conversations, Pack, Scripted};
use serde_json::{Value, json};

use crate::turn::{Completion, Journal, Outcome, ProgramRef, SessionView, Slice, Turn, TurnError, state_hash};

macro_rules! flow_file {
    ($name:literal) => {
        include_str!(concat!("../../../tests/packs/flow/", $name))
    };
}

const MATCHING: &str = flow_file!("matching.json");
const SLOTS: &str = flow_file!("slots.json");

/// Plays messages on a pack, each with the answers that follow it; returns the explanations of each turn.
fn converse(program: &str, pack: &str, lines: &[&str]) -> Vec<Vec<Value>> {
    // A turn needs a check, after its answers.
    let mut talk = format!("name talk\nprogram flow {program}\nconfig p.json\n\n> /start\n");
    for line in lines {
        talk += &if line.starts_with("llm") { format!("  {line}\n") } else { format!("? awaiting = null\n> {line}\n") };
    }
    play(&format!("{talk}? awaiting = null\n"), pack)
}

/// Plays a talk; returns the explanations of each turn. Each is compared with an unobserved one and with its replay.
fn play(talk: &str, pack: &str) -> Vec<Vec<Value>> {
    let pack = Pack::parse_talk(talk, |_| Ok(pack.to_owned())).unwrap();
    let config = Arc::new(pack.compile().0);
    let mut conversations = Conversations::default();
    let (mut scripted, mut unobserved_scripted) = (Scripted::from_pack(&pack), Scripted::from_pack(&pack));
    let mut turns = Vec::new();
    for index in 0..pack.turns.len() {
        let input = || pack.message(index).unwrap().into_input(&conversations, ProgramRef::Flow);
        scripted.begin_turn(&input());
        unobserved_scripted.begin_turn(&input());
        let (turn, outcome, hash) = run(Turn::start_observed(input(), Arc::clone(&config)), &mut scripted);
        let (unobserved, _, unobserved_hash) = run(Turn::start(input(), Arc::clone(&config)), &mut unobserved_scripted);
        assert_eq!((hash, turn.journal()), (unobserved_hash, unobserved.journal()), "observing changes nothing");
        assert!(unobserved.explanations().is_empty() && unobserved.ports().is_empty());
        let (replayed, _) = Turn::restore_observed(turn.journal().clone(), Arc::clone(&config)).unwrap();
        assert_eq!(
            (replayed.explanations(), replayed.read_views(<[SessionView]>::to_vec), replayed.ports()),
            (turn.explanations(), turn.read_views(<[SessionView]>::to_vec), turn.ports())
        );
        conversations.commit(&outcome);
        turns.push(serde_json::from_value(serde_json::to_value(turn.explanations()).unwrap()).unwrap());
    }
    turns
}

fn run(started: Result<(Turn, Slice), TurnError>, scripted: &mut Scripted) -> (Turn, Outcome, String) {
    let (mut turn, mut slice) = started.unwrap();
    let mut notices = std::mem::take(&mut slice.notices);
    let mut effects = std::mem::take(&mut slice.effects);
    while slice.end.is_none() {
        let effect = effects.remove(0);
        let (outcome, delay) = scripted.answer(&effect.request);
        let at = turn.now() + i64::try_from(delay).unwrap();
        slice = turn.resume(vec![Completion { id: effect.id, at, outcome }]).unwrap();
        notices.append(&mut slice.notices);
        effects.append(&mut slice.effects);
    }
    let outcome = slice.end.unwrap();
    let hash = state_hash(&outcome, &notices);
    (turn, outcome, hash)
}

/// The only explanation of a topic whose members, by JSON pointer, have these values.
fn find(turn: &[Value], topic: &str, members: &[(&str, Value)]) -> Value {
    let fits = |explanation: &&Value| {
        explanation["topic"] == topic && members.iter().all(|(path, value)| explanation.pointer(path) == Some(value))
    };
    let found: Vec<&Value> = turn.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "'{topic}' {members:?} in {turn:#?}");
    found[0].clone()
}

/// The candidates as name, verdict and reason.
fn candidates(explanation: &Value) -> Vec<(&str, &str, &str)> {
    fn text<'v>(row: &'v Value, name: &str) -> &'v str {
        row[name].as_str().unwrap_or_default()
    }
    explanation["rows"].as_array().unwrap().iter().map(|row| (text(row, "name"), text(row, "verdict"), text(row, "reason"))).collect()
}

#[test]
fn the_intents_that_a_message_could_mean_are_explained_stage_by_stage() {
    let turns = converse(
        "matching",
        MATCHING,
        &[
            "card balance",
            "please check my balance on the card",
            "llm INTENT_VERIFY {\"match\": true, \"confidence\": 0.9}",
            "show me the cash",
            "llm INTENT_MATCH {\"intent_id\": \"balance\", \"confidence\": 0.59}",
            "hi",
        ],
    );
    let exact = find(&turns[1], "intent_match", &[]);
    assert_eq!(
        (&exact["about"]["stage"], &exact["about"]["text"], &exact["step"]),
        (&json!("exact"), &json!("card balance"), &json!("match"))
    );
    assert_eq!(exact["verdict"], "the message is a phrase of 'card_balance'");
    let rows = candidates(&exact);
    assert_eq!(rows[0], ("balance", "lost", "its phrase 'balance' is shorter, or scores less"));
    assert_eq!(rows[1], ("card_balance", "won", "its phrase 'card balance' is the best"));
    assert_eq!(rows[2], ("change_pin", "not_matched", "none of its phrases is in the message"));
    assert_eq!(rows[6], ("retired", "out_of_scope", "it is disabled"));
    assert_eq!(exact["rows"][1]["score"], 1.0);
    let substring = find(&turns[2], "intent_match", &[("/about/stage", json!("substring"))]);
    assert_eq!(substring["verdict"], "the message contains a phrase of 'card_balance', and a model confirms it");
    let unsure = find(&turns[3], "intent_match", &[("/about/stage", json!("fallback"))]);
    assert_eq!((&unsure["about"]["model"], &unsure["about"]["minConfidence"]), (&json!("balance"), &json!(0.6)));
    let balance = unsure["rows"].as_array().unwrap().iter().find(|it| it["name"] == "balance").unwrap();
    assert_eq!((&balance["verdict"], &balance["score"]), (&json!("not_matched"), &json!(0.59)));
    assert_eq!(balance["reason"], "the confidence of the model is below the least that is accepted");
    let small_talk = find(&turns[4], "intent_match", &[("/about/small_talk", json!("hello"))]);
    assert_eq!(small_talk["verdict"], "the message is small talk");
}

#[test]
fn the_words_of_a_message_score_the_intents() {
    let turns = play(flow_file!("lexical_words.talk"), flow_file!("lexical.json"));
    let all: Vec<&Value> = turns
        .iter()
        .flatten()
        .filter(|explanation| explanation["topic"] == "intent_match" && explanation["about"]["stage"] == "lexical")
        .collect();
    assert!(!all.is_empty());
    for explanation in all {
        let won = explanation["rows"].as_array().unwrap().iter().find(|it| it["verdict"] == "won").unwrap();
        let threshold = explanation["about"]["threshold"].as_f64().unwrap();
        assert!(
            won["score"].as_f64().unwrap() >= threshold && won["reason"].as_str().unwrap().starts_with("by its words"),
            "{explanation}"
        );
    }
}

#[test]
fn a_verification_says_what_was_asked_and_answered() {
    let turns = converse(
        "matching",
        MATCHING,
        &[
            "pin my balance please",
            "llm INTENT_VERIFY {\"match\": false, \"confidence\": 0.9}",
            "llm INTENT_MATCH {\"intent_id\": \"change_pin\", \"confidence\": 0.61}",
            "please open please",
            "llm INTENT_VERIFY timeout",
            "balance",
        ],
    );
    let rejected = find(&turns[1], "verification", &[]);
    assert_eq!(
        (&rejected["verdict"], &rejected["about"]["answer"]),
        (&json!("the model rejects 'balance'"), &json!({"match": false, "confidence": 0.9}))
    );
    assert_eq!(rejected["about"]["asked"], "whether the message asks for 'balance'");
    assert_eq!(candidates(&rejected), [("balance", "lost", "")]);
    let matched = find(&turns[1], "intent_match", &[("/about/stage", json!("model"))]);
    assert!(candidates(&matched).contains(&("balance", "lost", "a model has rejected it")), "{matched}");
    assert!(candidates(&matched).contains(&("change_pin", "won", "the model has chosen it")), "{matched}");
    assert_eq!(find(&turns[2], "verification", &[])["verdict"], "the model gives no valid answer: 'open_time' stands");
    assert_eq!(find(&turns[3], "verification", &[])["verdict"], "the message is the phrase itself: no model is asked");
}

#[test]
fn a_branch_says_why_its_edges_are_taken_or_not() {
    let turns = play(flow_file!("decision_priority_tie_document_order.talk"), flow_file!("branches.json"));
    let tie = find(&turns[1], "route", &[("/about/node", json!("g_tie/d"))]);
    assert_eq!((&tie["step"], &tie["about"]["port"], &tie["about"]["target"]), (&json!("g_tie/d"), &json!("out"), &json!("b")));
    let rows = candidates(&tie);
    let won = rows.iter().position(|it| it.1 == "won").unwrap();
    assert!(rows[..won].iter().all(|row| row.1 == "not_matched" && row.2 == "the condition is false"), "{tie}");
    assert!(rows[won + 1..].iter().all(|it| it.1 == "not_reached"), "{tie}");
    let broken = find(&turns[2], "route", &[("/about/node", json!("g_broken/d"))]);
    let failed = candidates(&broken).into_iter().find(|it| it.1 == "failed").unwrap();
    assert!(!failed.2.is_empty(), "{broken}");
}

#[test]
fn the_dispatch_says_who_takes_the_event() {
    let turns = converse("slots", SLOTS, &["pick a color", "red", "/timer no_input"]);
    let dispatch = |turn: usize, event: &str| find(&turns[turn], "route", &[("/about/event", json!(event))]);
    assert_eq!(
        (&dispatch(0, "session.start")["verdict"], &dispatch(0, "session.start")["step"]),
        (&json!("the session starts"), &json!("dispatch"))
    );
    let first = dispatch(1, "user.message");
    assert_eq!(first["verdict"], "the intent of the message is searched");
    assert_eq!(candidates(&first)[3], ("waiting_node", "not_matched", "no node waits for an answer"));
    let answer = dispatch(2, "user.message");
    assert_eq!((&answer["about"]["node"], &answer["about"]["awaiting"]), (&json!("g_strikes/s_color"), &json!("entity")));
    assert!(candidates(&answer).contains(&("waiting_node", "won", "")) && candidates(&answer).contains(&("intents", "not_reached", "")));
    assert_eq!(dispatch(3, "timer.fired")["verdict"], "the event comes too late and changes nothing");
}

#[test]
fn a_message_says_which_of_its_buttons_is_chosen() {
    let turns = play(flow_file!("buttons_awaited.talk"), flow_file!("messages.json"));
    let buttons: Vec<&Value> = turns.iter().flatten().filter(|it| it["rows"][0]["facts"]["label"].is_string()).collect();
    let [chosen, none] = ["the answer chooses a button", "the answer matches no button"].map(|verdict| {
        *buttons.iter().find(|explanation| explanation["verdict"] == verdict).unwrap_or_else(|| panic!("no '{verdict}' in {buttons:#?}"))
    });
    assert_eq!(candidates(chosen).iter().filter(|it| it.1 == "won").count(), 1);
    assert!(chosen["about"]["port"].is_string() && none["about"]["port"].is_null());
    assert!(candidates(none).iter().all(|it| it.1 == "not_matched"), "{none}");
}

#[test]
fn a_slot_says_which_rules_a_value_breaks() {
    let turns = converse("slots", SLOTS, &["take a note", "ab", "milk", "check the bounds", "say 6", "be 5"]);
    let short = find(&turns[2], "slot", &[]);
    assert_eq!(
        (&short["step"], &short["about"]["variable"], &short["about"]["attempt"]),
        (&json!("g_note/n_text"), &json!("note"), &json!(1))
    );
    assert_eq!(candidates(&short)[0], ("entity", "won", ""));
    assert_eq!(candidates(&short)[1], ("min_length 3", "not_matched", "the text is too short"));
    assert!(
        short["verdict"].as_str().unwrap().starts_with("the answer is not valid: the user is asked again, after attempt 1 of "),
        "{short}"
    );
    let accepted = find(&turns[3], "slot", &[]);
    assert_eq!((&accepted["verdict"], &accepted["about"]["value"]), (&json!("the value is accepted"), &json!("milk")));
    assert!(candidates(&accepted)[1..].iter().all(|it| (it.1, it.2) == ("matched", "passed")), "{accepted}");
    let beyond = find(&turns[5], "slot", &[]);
    assert_eq!(beyond["rows"][0]["facts"]["unused"], json!([[0, 3]]), "the word 'say' is not used");
    assert_eq!((&beyond["rows"][0]["facts"]["span"], candidates(&beyond)[1].2), (&json!([4, 5]), "the value is above the maximum"));
}

#[test]
fn a_slot_says_when_its_attempts_are_used_up_and_who_interrupts_it() {
    let turns = play(flow_file!("entity_three_strikes.talk"), SLOTS);
    let last = find(&turns[4], "slot", &[]);
    assert_eq!(last["verdict"], "no valid answer in 3 attempts: the node fails");
    assert_eq!((&last["about"]["attempt"], &last["about"]["maxAttempts"]), (&json!(3), &json!(3)));
    assert_eq!(candidates(&last), [("entity", "not_matched", "the answer holds no value of it")]);
    let uninterrupted = find(&turns[4], "intent_match", &[]);
    assert_eq!(
        (&uninterrupted["verdict"], &uninterrupted["step"]),
        (&json!("nothing interrupts the question"), &json!("g_strikes/s_color"))
    );
    let turns = converse("slots", SLOTS, &["pick a color", "opening hours", "light blue"]);
    assert_eq!(find(&turns[2], "slot", &[])["verdict"], "something else interrupts the question");
    assert_eq!(find(&turns[2], "intent_match", &[("/about/stage", json!("exact"))])["verdict"], "the message is a phrase of 'hours'");
    let shade = converse("slots", SLOTS, &["shade", "light blue"]);
    let ambiguous = find(&shade[2], "slot", &[]);
    assert_eq!(candidates(&ambiguous), [("entity", "failed", "the answer fits equally well: sky / ice")]);
}

#[test]
fn a_prefilled_slot_says_how_its_value_was_found() {
    let turns = converse("teller", flow_file!("sentence.json"), &["move 200 euros from savings to checking on Friday"]);
    let from = find(&turns[1], "slot", &[("/about/variable", json!("move.from"))]);
    assert_eq!(candidates(&from), [("near_words", "won", "the words beside it stand for the slot")]);
    let amount = find(&turns[1], "slot", &[("/about/variable", json!("move.amount"))]);
    assert_eq!(
        (candidates(&amount)[0].0, &amount["verdict"]),
        ("entity", &json!("the value is taken from the message that triggered the intent"))
    );
}

#[test]
fn a_redacted_value_is_in_no_explanation() {
    let turns = play(flow_file!("entity_redacted_everywhere.talk"), SLOTS);
    let refused = find(&turns[2], "slot", &[]);
    assert_eq!((&refused["about"]["variable"], &refused["about"]["value"]), (&json!("code"), &Value::Null));
    assert_eq!(find(&turns[2], "intent_match", &[])["about"]["text"], "[code]");
    assert_eq!(find(&turns[3], "slot", &[])["about"]["value"], "[code]");
    assert_eq!(find(&turns[5], "slot", &[])["verdict"], "prefill from the triggering message is off: the user is asked");
    let shown = json!(turns).to_string();
    for private in ["1234", "9876", "ann@"] {
        assert!(!shown.contains(private), "{private} in {shown}");
    }
}

#[test]
fn a_fallback_says_which_others_are_passed_over() {
    let turns = play(flow_file!("fallback_disabled.talk"), flow_file!("fallback_disabled.json"));
    let fallback = find(&turns[1], "fallback", &[("/about/graph", json!("root"))]);
    assert_eq!(fallback["verdict"], "the fallback node 'on' takes over");
    assert_eq!(candidates(&fallback), [("off", "out_of_scope", "it is disabled"), ("on", "won", "")]);
    let turns = play(flow_file!("fallback_limit.talk"), MATCHING);
    let within = find(&turns[2], "fallback", &[("/about/count", json!(2))]);
    assert_eq!(candidates(&within)[0], ("limit_graph", "not_matched", "fallback 2 is within the limit of 2"));
    assert_eq!(candidates(&within)[2], ("intent", "not_matched", "there is none"));
    let beyond = find(&turns[3], "fallback", &[]);
    assert_eq!((candidates(&beyond)[0].1, candidates(&beyond)[3].1), ("won", "not_reached"));
    assert_eq!((&beyond["about"]["limit"], &beyond["about"]["message"]), (&json!(2), &json!("not sent")));
}

#[test]
fn each_step_of_an_agent_says_why_it_continues_or_stops() {
    let agent = flow_file!("agent.json");
    let turns = play(flow_file!("agent_tool_roundtrip.talk"), agent);
    let first = find(&turns[1], "agent_step", &[("/about/step", json!(1))]);
    assert_eq!(
        (candidates(&first), &first["verdict"]),
        (vec![("get_balance", "matched", "called")], &json!("the results of the calls go back to the model"))
    );
    let second = find(&turns[1], "agent_step", &[("/about/step", json!(2))]);
    assert_eq!(second["verdict"], "the model has called nothing: the agent waits for the user");
    let turns = play(flow_file!("agent_max_steps.talk"), agent);
    let ended = find(&turns[2], "agent_step", &[("/about/step", Value::Null)]);
    assert_eq!(
        (&ended["verdict"], &ended["about"]["maxSteps"]),
        (&json!("the agent has reached its step limit of the turn: the turn ends"), &json!(2))
    );
    let turns = play(flow_file!("agent_exit_when.talk"), agent);
    let left = find(&turns[2], "agent_step", &[]);
    assert_eq!((candidates(&left)[1].1, candidates(&left)[1].2), ("won", "the exit condition is true"));
    assert_eq!(left["verdict"], "the agent is done: the node is left by the port 'done'");
    let turns = play(flow_file!("agent_approval_approve.talk"), agent);
    let asked = find(&turns[1], "agent_step", &[]);
    assert_eq!(candidates(&asked), [("block_card", "matched", "it waits for the approval of a person")]);
    let approved = find(&turns[3], "agent_step", &[]);
    assert_eq!((&approved["about"]["approved"], &approved["verdict"]), (&json!(true), &json!("a call waits for the approval of a person")));
    let turns = play(flow_file!("agent_invalid_args_returned_to_model.talk"), agent);
    let invalid = turns.iter().flatten().filter(|it| it["topic"] == "agent_step").flat_map(|it| candidates(it)).find(|it| it.1 == "failed");
    assert!(invalid.is_some_and(|it| it.2.starts_with("invalid_args: ")), "{turns:#?}");
}

#[test]
fn a_migration_says_what_is_kept_moved_or_reset() {
    let config = Arc::new(Pack::parse(SLOTS).unwrap().compile().0);
    let report = json!({
        "from": "sha256:a", "to": "sha256:b", "mapped": ["root/r_idle", "g_note/old"], "dropped": ["g_note/n_text"],
        "moved": {"g_note/old": "g_note/in"}, "reset": "node",
    });
    let event = json!({"type": "session.start", "migrated": report});
    let talk =
        Pack::parse_talk("name t\nprogram flow slots\nconfig p.json\n\n> /start\n? messages = []\n", |_| Ok(SLOTS.to_owned())).unwrap();
    let mut input = talk.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::Flow);
    input.event = convengine_turn::UserEvent::from_flow_event(event);
    let (turn, _) = Turn::start_observed(input, config).unwrap();
    let all: Vec<Value> = serde_json::from_value(json!(turn.explanations())).unwrap();
    let migration = find(&all, "migration", &[]);
    assert_eq!(migration["verdict"], "a node is gone: the session is reset to a node that exists");
    assert_eq!((&migration["about"]["from"], &migration["about"]["to"]), (&json!("sha256:a"), &json!("sha256:b")));
    assert_eq!(
        candidates(&migration),
        [
            ("root/r_idle", "won", "kept: the node is the same in both versions"),
            ("g_note/old", "won", "moved to g_note/in, as the document declares"),
            ("g_note/n_text", "failed", "reset: the new version has no such node"),
        ]
    );
}

#[test]
fn a_divergence_names_the_node_and_the_port_taken_before() {
    let talk = "name t\nprogram flow services\nconfig p.json\n\n> flaky\n? awaiting = null\n";
    let pack = Pack::parse_talk(talk, |_| Ok(flow_file!("services.json").to_owned())).unwrap();
    let config = Arc::new(pack.compile().0);
    let input = pack.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::Flow);
    let (turn, ..) = run(Turn::start(input, Arc::clone(&config)), &mut Scripted::from_pack(&pack));
    let mut journal: Journal = turn.journal().clone();
    journal.entries[0].fingerprint = "other".to_owned();
    let error = Turn::restore(journal, config).unwrap_err();
    let text = error.to_string();
    let TurnError::Diverged(diverged) = error else { panic!("no divergence: {text}") };
    assert_eq!((diverged.step.as_str(), diverged.ports.as_slice()), ("g_flaky/s", ["g_flaky/in:out".to_owned()].as_slice()));
    assert!(text.contains("in step g_flaky/s, after the port g_flaky/in:out: "), "{text}");
}
