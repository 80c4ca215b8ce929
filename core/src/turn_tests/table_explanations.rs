//! Tests of the explanations that an observed turn records.

use std::sync::Arc;

use convengine_config::Config;
use convengine_pack::{Conversations, Pack, Scripted};
use serde_json::{Value, json};

use crate::turn::{Completion, ProgramRef, SessionView, Turn};

/// Plays one message of a pack; returns the explanations and checks that a replay repeats them.
fn play(pack: &Value) -> Vec<Value> {
    let mut pack = pack.clone();
    pack["name"] = json!("explanations");
    let body = json!({"message": pack["say"]});
    pack["turns"] = json!([{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": body}}]);
    pack.as_object_mut().unwrap().shift_remove("say");
    let pack = Pack::parse(&pack.to_string()).unwrap();
    let (config, issues) = Config::compile(&pack.tables, &pack.settings);
    assert!(issues.iter().all(|it| !it.is_error()), "{issues:?}");
    let config = Arc::new(config);
    let mut scripted = Scripted::from_pack(&pack);
    let input = pack.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::PipelineV2);
    scripted.begin_turn(&input);
    let (mut turn, mut slice) = Turn::start_observed(input, Arc::clone(&config)).unwrap();
    while slice.end.is_none() {
        let effect = slice.effects.pop().unwrap();
        let (outcome, _) = scripted.answer(&effect.request);
        slice = turn.resume(vec![Completion { id: effect.id, at: turn.now(), outcome }]).unwrap();
    }
    let (replayed, _) = Turn::restore_observed(turn.journal().clone(), Arc::clone(&config)).unwrap();
    assert_eq!(
        (replayed.explanations(), replayed.read_views(<[SessionView]>::to_vec)),
        (turn.explanations(), turn.read_views(<[SessionView]>::to_vec))
    );
    assert!(Turn::restore(turn.journal().clone(), config).unwrap().0.explanations().is_empty(), "nobody watched");
    let explanations = turn.explanations();
    assert!(explanations.is_sorted_by_key(|it| it.seq));
    serde_json::from_value(serde_json::to_value(explanations).unwrap()).unwrap()
}

/// The first explanation of a topic that satisfies a condition.
fn find_explanation(explanations: &[Value], topic: &str, matches: impl Fn(&Value) -> bool) -> Value {
    let found = explanations.iter().find(|explanation| explanation["topic"] == topic && matches(explanation));
    found.cloned().unwrap_or_else(|| panic!("no '{topic}' in {explanations:#?}"))
}

fn find_row(explanation: &Value, id: i64) -> Value {
    let rows = explanation["rows"].as_array().unwrap();
    rows.iter().find(|it| it["id"] == id).cloned().unwrap_or_else(|| panic!("no row {id} in {explanation:#}"))
}

/// Builds rows from column names and values.
fn rows(columns: &[&str], rows: &[Value]) -> Value {
    let row = |row: &Value| columns.iter().map(|column| (*column).to_owned()).zip(row.as_array().unwrap().iter().cloned()).collect();
    rows.iter().map(|values| Value::Object(row(values))).collect()
}

fn orders_pack() -> Value {
    json!({
        "say": "where is my order",
        "settings": {"flow": {"dialogueAct": {"resolute": "REGEX_ONLY"}}},
        "tables": {
            "ce_intent": [{"intent_code": "ORDER"}, {"intent_code": "CARD"}],
            "ce_intent_classifier": rows(&["classifier_id", "intent_code", "state_code", "rule_type", "pattern", "priority"], &[
                json!([1, "CARD", "START", "CONTAINS", "card", 1]),
                json!([2, "ORDER", "START", "REGEX", "\\border\\b", 2]),
                json!([3, "ORDER", "START", "CONTAINS", "where", 3]),
            ]),
            "ce_rule": rows(&["rule_id", "phase", "intent_code", "state_code", "rule_type", "match_pattern", "action", "action_value", "priority"], &[
                json!([1, "PRE_RESPONSE_RESOLUTION", "ORDER", "START", "JSON_PATH", "$.inputParams.gone == 'x' || $.schemaComplete == true", "SET_STATE", "BAD", 1]),
                json!([2, "PRE_RESPONSE_RESOLUTION", "CARD", "START", "EXACT", "ANY", "SET_STATE", "BAD", 1]),
                json!([3, "PRE_RESPONSE_RESOLUTION", "ORDER", "START", "REGEX", "order", "SET_STATE", "FOUND", 2]),
                json!([4, "PRE_RESPONSE_RESOLUTION", "ORDER", "FOUND", "EXACT", "nothing else", "SET_STATE", "BAD", 2]),
                json!([5, "PRE_RESPONSE_RESOLUTION", "ANY", "ANY", "REGEX", "(a|b|ab)*(?>c)", "SET_STATE", "BAD", 9]),
            ]),
            "ce_response": rows(&["response_id", "intent_code", "state_code", "output_format", "response_type", "exact_text", "priority"], &[
                json!([1, "ORDER", "ANY", "TEXT", "EXACT", "of any state", 1]),
                json!([2, "ORDER", "FOUND", "TEXT", "EXACT", "later", 300]),
                json!([3, "ORDER", "FOUND", "TEXT", "EXACT", "chosen", 200]),
                json!([4, "ANY", "FOUND", "TEXT", "EXACT", "of any intent", 1]),
                json!([5, "CARD", "ANY", "TEXT", "EXACT", "another intent", 1]),
                json!([6, "ORDER", "FOUND", "TEXT", "EXACT", "of equals the later", 200]),
            ]),
        },
    })
}

#[test]
fn every_rule_of_a_phase_is_explained_round_by_round() {
    let explanations = play(&orders_pack());
    let round = |number: i64| {
        find_explanation(&explanations, "rules", |explanation| {
            explanation["about"]["phase"] == "PRE_RESPONSE_RESOLUTION" && explanation["about"]["round"] == number
        })
    };
    let first = round(1);
    assert_eq!(
        (&first["step"], &first["about"]["state"], &first["verdict"]),
        (&json!("RulesStep"), &json!("START"), &json!("1 of 5 rules apply"))
    );
    assert_eq!(
        find_row(&first, 1),
        json!({
            "table": "ce_rule", "id": 1, "name": "$.inputParams.gone == 'x' || $.schemaComplete == true", "verdict": "not_matched",
            "reason": "the path does not hold", "facts": {"inputParams.gone": null, "schemaComplete": false},
        })
    );
    assert_eq!(find_row(&first, 2)["verdict"], "out_of_scope");
    assert_eq!(find_row(&first, 2)["reason"], "it is for the intent CARD, and the intent is ORDER");
    assert_eq!(
        find_row(&first, 3),
        json!({
            "table": "ce_rule", "id": 3, "name": "order", "verdict": "matched", "reason": "SET_STATE FOUND",
            "facts": {"userText": "where is my order"},
        })
    );
    assert_eq!(find_row(&first, 4)["reason"], "it is for the state FOUND, and the state is START");
    let second = round(2);
    assert_eq!((&second["about"]["state"], &find_row(&second, 4)["verdict"]), (&json!("FOUND"), &json!("not_matched")));
    assert_eq!(
        find_row(&second, 2)["reason"],
        "it is for the intent CARD, and the intent is ORDER; it is for the state START, and the state is FOUND"
    );
}

#[test]
fn a_pattern_over_its_step_limit_is_explained() {
    let mut pack = orders_pack();
    pack["say"] = json!(format!("order {}", "ab".repeat(40)));
    let explanation = find_explanation(&play(&pack), "rules", |it| it["about"]["phase"] == "PRE_RESPONSE_RESOLUTION");
    let found = find_row(&explanation, 5);
    assert_eq!((&found["verdict"], &found["reason"]), (&json!("failed"), &json!("the pattern takes too many steps on this message")));
}

#[test]
fn a_response_that_loses_says_what_would_make_it_win() {
    let explanation = find_explanation(&play(&orders_pack()), "response", |_| true);
    assert_eq!(explanation["about"], json!({"intent": "ORDER", "state": "FOUND"}));
    let found = |id: i64| {
        let row = find_row(&explanation, id);
        (row["verdict"].as_str().unwrap().to_owned(), row["score"].as_i64(), row["reason"].as_str().unwrap().to_owned())
    };
    let expected = |verdict: &str, score: Option<i64>, reason: &str| (verdict.to_owned(), score, reason.to_owned());
    assert_eq!(found(3), expected("won", Some(-800), "priority 200 - 1000 for the closeness of its state = -800"));
    let earlier = "priority 300 - 1000 for the closeness of its state = -700, and the lowest wins: priority 200 would";
    assert_eq!(found(2), expected("lost", Some(-700), earlier));
    assert_eq!(
        found(1),
        expected("lost", Some(-9), "priority 1 - 10 for the closeness of its state = -9, and the lowest wins: priority -790 would")
    );
    assert_eq!(found(6).2, "priority 200 - 1000 for the closeness of its state = -800, and the lowest wins: priority 199 would");
    assert_eq!(found(4), expected("lost", Some(-999), "applies only when the intent has no row"));
    assert_eq!(found(5), expected("out_of_scope", None, "it is for the intent CARD, and the intent is ORDER"));
}

#[test]
fn reasons_predict_the_outcome() {
    let answer = |priority: i64, id: usize| {
        let mut pack = orders_pack();
        pack["tables"]["ce_response"][id - 1]["priority"] = json!(priority);
        let explanation = find_explanation(&play(&pack), "response", |_| true);
        explanation["rows"].as_array().unwrap().iter().find(|row| row["verdict"] == "won").unwrap()["id"].as_u64().unwrap()
    };
    for id in [1, 2, 6] {
        let explanation = find_explanation(&play(&orders_pack()), "response", |_| true);
        let reason = find_row(&explanation, i64::try_from(id).unwrap())["reason"].as_str().unwrap().to_owned();
        let needed: i64 = reason.rsplit("priority ").next().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert_eq!((answer(needed, id), answer(needed + 1, id)), (id as u64, 3), "{reason}");
    }
}

#[test]
fn a_missing_response_is_explained() {
    let mut pack = orders_pack();
    pack["tables"]["ce_response"] = json!([{"response_id": 9, "intent_code": "CARD", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "x"}]);
    let explanation = find_explanation(&play(&pack), "response", |_| true);
    assert!(explanation["verdict"].as_str().unwrap().starts_with("no row matches"), "{explanation}");
    assert_eq!(find_row(&explanation, 9)["verdict"], "out_of_scope");
}

#[test]
fn classifier_rows_are_explained() {
    let explanation = find_explanation(&play(&orders_pack()), "classifier", |_| true);
    let verdicts: Vec<Value> = (1..=3).map(|id| find_row(&explanation, id)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["not_matched", "won", "matched"]);
    let mut pack = orders_pack();
    pack["say"] = json!("where is my card");
    pack["llm"] = json!([{"reply": {"intent": "CARD", "confidence": 0.1, "intentScores": {"CARD": 0.1, "ORDER": 0.9}}}]);
    let explanations = play(&pack);
    let explanation = find_explanation(&explanations, "classifier", |_| true);
    assert_eq!((&explanation["about"]["collision"], &find_row(&explanation, 3)["verdict"]), (&json!(["CARD", "ORDER"]), &json!("matched")));
    let agent = find_explanation(&explanations, "intent_agent", |_| true);
    assert_eq!(agent["verdict"], "rejected: the confidence is below the least that is taken");
    assert_eq!((&agent["about"]["confidence"], &agent["about"]["minConfidence"]), (&json!(0.1), &json!(0.55)));
    assert_eq!(
        (&agent["rows"][0]["name"], &agent["rows"][0]["score"], &agent["rows"][1]["verdict"]),
        (&json!("ORDER"), &json!(0.9), &json!("matched"))
    );
}

#[test]
fn policies_are_explained_up_to_the_one_that_blocks() {
    let mut pack = orders_pack();
    pack["tables"]["ce_policy"] = rows(
        &["policy_id", "rule_type", "pattern", "response_text", "priority"],
        &[
            json!([1, "CONTAINS", "weapon", "no", 1]),
            json!([2, "CONTAINS", "order", "no orders", 2]),
            json!([3, "CONTAINS", "where", "no", 3]),
        ],
    );
    let explanation = find_explanation(&play(&pack), "policy", |_| true);
    assert_eq!((&explanation["verdict"], &explanation["step"]), (&json!("the message is blocked"), &json!("PolicyEnforcementStep")));
    let verdicts: Vec<Value> = (1..=3).map(|id| find_row(&explanation, id)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["not_matched", "won", "not_reached"]);
}

#[test]
fn the_guard_over_the_model_is_explained() {
    let mut pack = orders_pack();
    pack["settings"] = json!({"flow": {"dialogueAct": {"resolute": "REGEX_THEN_LLM", "llm-threshold": 0.9}}});
    pack["llm"] = json!([{"purpose": "dialogue_act", "reply": {"dialogueAct": "RESET", "confidence": 0.99}}]);
    let explanation = find_explanation(&play(&pack), "dialogue_act", |_| true);
    assert_eq!(explanation["verdict"], "a model alone must not reset the conversation: the words decide");
    assert_eq!(
        (&explanation["about"]["candidate"], &explanation["about"]["model"], &explanation["about"]["guard"]),
        (&json!("NEW_REQUEST"), &json!({"act": "RESET", "confidence": 0.99}), &json!("REGEX_GUARD_RESET"))
    );
    assert_eq!((&explanation["about"]["confidence"], explanation["rows"].as_array().unwrap().len()), (&json!(0.7), 5));
}

#[test]
fn the_first_closed_gate_is_explained() {
    let explanation = find_explanation(&play(&orders_pack()), "planner", |_| true);
    let gates: Vec<(String, String)> = explanation["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap().to_owned(), row["verdict"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(
        gates.iter().map(|it| it.1.as_str()).collect::<Vec<_>>(),
        ["not_matched", "not_matched", "not_matched", "not_matched", "not_matched", "won", "not_reached"]
    );
    let mut pack = orders_pack();
    pack["say"] = json!("hello");
    pack["llm"] = json!([{"reply": {"intent": null}}]);
    pack["tables"]["ce_response"][3]["state_code"] = json!("ANY");
    let explanation = find_explanation(&play(&pack), "planner", |_| true);
    assert_eq!(
        (&explanation["rows"][3]["verdict"], &explanation["rows"][3]["reason"], &explanation["rows"][4]["verdict"]),
        (&json!("won"), &json!("the message is only a greeting"), &json!("not_reached"))
    );
}

#[test]
fn rows_that_request_tools_are_explained() {
    let mut pack = orders_pack();
    pack["tables"]["ce_mcp_tool"] =
        json!([{"tool_id": 1, "tool_code": "t", "tool_group": "API", "intent_code": "ANY", "state_code": "ANY"}]);
    pack["tables"]["ce_tool"] = rows(
        &["tool_id", "intent_code", "state_code", "tool_code", "when_path", "priority"],
        &[
            json!([1, "ORDER", "START", "t", "$.context.orderNumber", 1]),
            json!([2, "ORDER", "START", "t", "$.intent == 'ORDER'", 2]),
            json!([3, "ORDER", "START", "t", null, 3]),
            json!([4, "CARD", "START", "t", null, 1]),
        ],
    );
    pack["tools"] = json!({"t": {"text": "{}"}});
    let explanation = find_explanation(&play(&pack), "tool", |_| true);
    let verdicts: Vec<Value> = (1..=4).map(|id| find_row(&explanation, id)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["not_matched", "won", "not_reached", "out_of_scope"]);
    assert_eq!(
        (&find_row(&explanation, 1)["facts"], &find_row(&explanation, 2)["facts"]),
        (&json!({"context.orderNumber": null}), &json!({"intent": "ORDER"}))
    );
}

#[test]
fn a_forbidden_state_transition_is_explained() {
    let mut pack = orders_pack();
    pack["settings"]["flow"]["state-graph"] = json!({"enabled": true});
    pack["tables"]["ce_state_graph"] =
        rows(&["state_graph_id", "intent_code", "from_state", "to_state"], &[json!([1, "ORDER", "START", "OTHER"])]);
    let explanation = find_explanation(&play(&pack), "state_graph", |_| true);
    assert_eq!(explanation["verdict"], "the state must not follow, but is kept");
    assert_eq!(explanation["about"], json!({"intent": "ORDER", "from": "START", "to": "FOUND", "allowed": ["OTHER"]}));
}

#[test]
fn pending_actions_are_explained() {
    let verdicts = |priorities: [i64; 2]| {
        let mut pack = orders_pack();
        let columns = ["pending_action_id", "intent_code", "state_code", "action_key", "bean_name", "method_names", "priority"];
        let row_of = |id: i64, intent: &str, priority: i64| json!([id, intent, "ANY", format!("K{id}"), format!("b{id}"), "m", priority]);
        let [first, second] = priorities;
        pack["tables"]["ce_pending_action"] =
            rows(&columns, &[row_of(1, "ORDER", first), row_of(2, "ORDER", second), row_of(3, "CARD", 1)]);
        let explanation = find_explanation(&play(&pack), "pending_action", |_| true);
        assert_eq!(explanation["verdict"], "no action is carried out: the user has not said yes or no to one");
        (1..=3).map(|id| find_row(&explanation, id)["verdict"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(verdicts([2, 1]), ["lost", "won", "out_of_scope"]);
    assert_eq!(verdicts([1, 1]), ["matched", "matched", "out_of_scope"]);
}

#[test]
fn a_message_blocked_by_the_guardrail_is_explained() {
    let mut pack = orders_pack();
    let settings = json!({"require-approval-for-sensitive-actions": true, "sensitive-patterns": ["delete", "\\border\\b"]});
    pack["settings"]["flow"]["guardrail"] = settings;
    let explanations = play(&pack);
    let explanation = find_explanation(&explanations, "guardrail", |_| true);
    assert_eq!(explanation["verdict"], "held back: the message is sensitive and not approved");
    assert_eq!((&explanation["rows"][0]["verdict"], &explanation["rows"][1]["verdict"]), (&json!("not_matched"), &json!("matched")));
    let planner = find_explanation(&explanations, "planner", |_| true);
    assert_eq!((&planner["rows"][0]["verdict"], &planner["rows"][1]["verdict"]), (&json!("won"), &json!("not_reached")));
}

#[test]
fn the_template_of_an_answer_is_explained() {
    let mut pack = orders_pack();
    pack["tables"]["ce_response"][2]["response_type"] = json!("DERIVED");
    pack["tables"]["ce_prompt_template"] = rows(
        &["template_id", "intent_code", "state_code", "output_format", "system_prompt", "user_prompt"],
        &[
            json!([1, "ORDER", "ANY", "TEXT", "s", "u"]),
            json!([2, "ORDER", "FOUND", "TEXT", "s", "u"]),
            json!([3, "ORDER", "FOUND", "JSON", "s", "u"]),
            json!([4, "CARD", "ANY", "TEXT", "s", "u"]),
        ],
    );
    pack["llm"] = json!([{"purpose": "response_text", "reply": "hello"}]);
    let explanation = find_explanation(&play(&pack), "template", |_| true);
    let verdicts: Vec<Value> = (1..=4).map(|id| find_row(&explanation, id)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["lost", "won", "not_matched", "out_of_scope"]);
    assert_eq!(find_row(&explanation, 3)["reason"], "it is of the format JSON");
}

#[test]
fn a_turn_without_a_correction_is_explained() {
    let explanation = find_explanation(&play(&orders_pack()), "correction", |_| true);
    assert_eq!(explanation["verdict"], "nothing to correct: no schema applies to this intent and state");
}
