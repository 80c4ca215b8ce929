//! Tables for each check: rows with the expected findings, and fixed rows without.

use convengine_config::{Config, Severity, Tables};
use serde_json::{Value, json};

use super::{check_with_replies, check_without_model};

/// Returns the findings as `rule path`, with the prefix `!` for errors.
fn findings(tables: &Value) -> Vec<String> {
    findings_with(tables, &Value::Null)
}

fn findings_with(tables: &Value, settings: &Value) -> Vec<String> {
    findings_beside(tables, settings, &[])
}

/// Returns the findings beside known replies of tasks.
fn findings_beside(tables: &Value, settings: &Value, replies: &[Value]) -> Vec<String> {
    let tables: Tables = serde_json::from_value(tables.clone()).unwrap();
    let (config, issues) = Config::compile(&tables, settings);
    let found = check_with_replies(&tables, config.settings.profile, &issues, replies);
    for issue in &found {
        assert!(!issue.reason.ends_with('.') && !issue.hint.is_empty() && !issue.hint.ends_with('.'), "{issue}");
    }
    found.iter().map(|issue| format!("{}{} {}", if issue.severity == Severity::Error { "!" } else { "" }, issue.rule, issue.path)).collect()
}

/// Returns base tables without findings, with tables of the test added or replaced.
fn with_base(tables: Value) -> Value {
    let mut all = json!({
        "ce_intent": [{"intent_code": "LOAN", "description": "loans"}, {"intent_code": "CARD", "description": "cards"}],
        "ce_response": [exact(1, "ANY", "ANY")],
    });
    for (table, rows) in tables.as_object().unwrap() {
        all[table] = rows.clone();
    }
    all
}

fn exact(id: u32, intent: &str, state: &str) -> Value {
    json!({"response_id": id, "intent_code": intent, "state_code": state, "output_format": "TEXT", "response_type": "EXACT",
        "exact_text": "Hello.", "priority": 100})
}

fn derived(id: u32, intent: &str, state: &str, format: &str) -> Value {
    json!({"response_id": id, "intent_code": intent, "state_code": state, "output_format": format, "response_type": "DERIVED",
        "json_schema": {"type": "object"}, "priority": 100})
}

fn rule(id: u32, scope: [&str; 3], condition: [&str; 2], action: [&str; 2]) -> Value {
    json!({"rule_id": id, "phase": scope[0], "intent_code": scope[1], "state_code": scope[2], "rule_type": condition[0],
        "match_pattern": condition[1], "action": action[0], "action_value": action[1], "priority": id})
}

fn classifier(id: u32, kind: &str, pattern: &str, intent: &str, state: &str) -> Value {
    json!({"classifier_id": id, "rule_type": kind, "pattern": pattern, "intent_code": intent, "state_code": state, "priority": id})
}

fn template(id: u32, scope: [&str; 2], format: &str) -> Value {
    json!({"template_id": id, "intent_code": scope[0], "state_code": scope[1], "output_format": format, "system_prompt": "s", "user_prompt": "u"})
}

fn scoped(mut row: Value, intent: &str, state: &str) -> Value {
    row["intent_code"] = intent.into();
    row["state_code"] = state.into();
    row
}

const ALWAYS: [&str; 2] = ["EXACT", "ANY"];
const PRE: &str = "PRE_RESPONSE_RESOLUTION";

/// Asserts that the first tables have these findings and the second ones none.
#[track_caller]
fn expect(bad: Value, expected: &[&str], good: Value) {
    assert_eq!(findings(&with_base(bad)), expected);
    assert_eq!(findings(&with_base(good)), [""; 0], "the fixed rows");
}

#[test]
fn patterns_that_match_unintended_texts() {
    let classifiers = |rows: Value| json!({"ce_intent_classifier": rows});
    let one = |kind: &str, pattern: &str| classifiers(json!([classifier(1, kind, pattern, "LOAN", "UNKNOWN")]));
    let at = "ce_intent_classifier[1].pattern";
    expect(one("REGEX", r"\\b(loan)\\b"), &[&format!("regex-doubled-escape {at}")], one("REGEX", r"\b(loan)\b"));
    expect(one("REGEX", r"loan\\s+now"), &[&format!("regex-doubled-escape {at}")], one("REGEX", r"c:\\windows"));
    expect(one("CONTAINS", " loan"), &[&format!("padded-pattern {at}")], one("EXACT", " loan"));
    expect(one("CONTAINS", "loan|credit"), &[&format!("regex-in-plain-pattern {at}")], one("REGEX", "loan|credit"));
    let two =
        |a: &str, b: &str| classifiers(json!([classifier(1, "REGEX", a, "LOAN", "UNKNOWN"), classifier(2, "REGEX", b, "CARD", "UNKNOWN")]));
    expect(two("loan|", "card"), &[&format!("matches-everything {at}")], two("^(?!.*card)", "card"));
    expect(two("money", "MONEY"), &["overlapping-classifiers ce_intent_classifier[2].pattern"], two("money", "card"));
    let policy = |pattern: &str| json!({"ce_policy": [{"policy_id": 4, "rule_type": "REGEX", "pattern": pattern, "response_text": "No."}]});
    expect(policy("(ssn)?"), &["matches-everything ce_policy[4].pattern"], policy("ssn?"));
}

#[test]
fn conditions_on_unknown_paths() {
    let condition = |path: &str| json!({"ce_rule": [rule(3, [PRE, "LOAN", "ANY"], ["JSON_PATH", path], ["SET_INPUT_PARAM", "a:1"])]});
    let at = "ce_rule[3].match_pattern";
    for (bad, rule, good) in [
        ("$[?(@.context.agent.finalAnswer != null)]", "unknown-context-path", "$[?(@.context.mcp.finalAnswer != null)]"),
        ("$[?(@.confidence >= 0.6)]", "unknown-fact-path", "$[?(@.payload.confidence >= 0.6)]"),
        ("$.pending_action_result == 'EXECUTED'", "unknown-fact-path", "$.x == 1 || $.inputParams.pending_action_result == 'EXECUTED'"),
        ("$.usertext != null", "unknown-fact-path", "$.userText != null"),
        ("$[?(@.schemaComplete == 'true')]", "!condition-never-met", "$[?(@.schemaComplete == true)]"),
        ("$.inputParams.n > '5'", "!condition-never-met", "$.inputParams.n > 5"),
        ("$.missingRequiredFields.length()", "!condition-never-met", "$.missingRequiredFields.length() > 0"),
    ] {
        expect(condition(bad), &[&format!("{rule} {at}")], condition(good));
    }
    let of_context =
        |path: &str| json!({"ce_rule": [rule(3, [PRE, "LOAN", "ANY"], ["CONTEXT_JSON_PATH", path], ["SET_INPUT_PARAM", "a:1"])]});
    expect(of_context("$.inputParams.n"), &[&format!("unknown-context-path {at}")], of_context("$.mcp"));
    // An extracted field is in the context.
    let mut collected = condition("$[?(@.confidence >= 0.6)]");
    let schema = scoped(json!({"schema_id": 1, "json_schema": {"properties": {"confidence": {}}}, "priority": 1}), "LOAN", "ANY");
    collected["ce_output_schema"] = json!([schema]);
    collected["ce_prompt_template"] = json!([template(1, ["LOAN", "ANY"], "SCHEMA_JSON")]);
    assert_eq!(findings(&with_base(collected)), [""; 0]);
    let mut by_task = condition("$.enquiry == 1");
    assert_eq!(findings(&with_base(by_task.clone())), [format!("unknown-fact-path {at}")]);
    by_task["ce_task"] = json!([scoped(json!({"task_id": 1, "kind": "HOOK", "stage": "BEFORE", "task": "crm:load"}), "ANY", "ANY")]);
    assert_eq!(findings(&with_base(by_task)), [""; 0], "a task may write anything into the context");
}

#[test]
fn rules_that_loop_or_cascade() {
    let rules = |rows: Value| json!({"ce_rule": rows, "ce_response": [exact(1, "ANY", "ANY"), exact(2, "LOAN", "B")]});
    let to = |id: u32, from: &str, condition: [&str; 2], to: &str| rule(id, [PRE, "LOAN", from], condition, ["SET_STATE", to]);
    expect(
        rules(json!([to(1, "A", ALWAYS, "B"), to(2, "B", ALWAYS, "A")])),
        &["rule-loop ce_rule[1].action_value"],
        rules(json!([to(1, "A", ALWAYS, "B"), to(2, "B", ["EXACT", "back"], "A")])),
    );
    let known = ["JSON_PATH", "$.inputParams.number != null"];
    expect(
        rules(json!([to(1, "IDLE", known, "B"), to(2, "B", ALWAYS, "C")])),
        &["same-pass-cascade ce_rule[2].match_pattern"],
        rules(json!([to(1, "IDLE", known, "B"), to(2, "B", ["EXACT", "yes"], "C")])),
    );
    expect(
        rules(json!([to(1, "IDLE", ["EXACT", "yes"], "B"), to(2, "IDLE", ["EXACT", "yes"], "C")])),
        &["shadowed-row ce_rule[1].action_value"],
        rules(json!([to(1, "IDLE", ["EXACT", "yes"], "B"), to(2, "IDLE", ["EXACT", "no"], "C")])),
    );
    let pass_through = rules(json!([to(1, "IDLE", known, "M"), to(2, "M", ALWAYS, "C")]));
    assert_eq!(findings(&with_base(pass_through)), [""; 0], "no row uses the state M");
}

#[test]
fn rules_that_transition_too_early() {
    let after_tools =
        |path: &str| json!({"ce_rule": [rule(1, ["POST_AGENT_MCP", "LOAN", "ANY"], ["JSON_PATH", path], ["SET_STATE", "DONE"])]});
    expect(
        after_tools("$[?(@.context.mcp.finalAnswer != null)]"),
        &["completes-on-error ce_rule[1].match_pattern"],
        after_tools("$[?(@.context.mcp.finalAnswer != null && @.context.mcp.lifecycle.error == false)]"),
    );
    let confirm = |condition: [&str; 2]| {
        let action = scoped(json!({"pending_action_id": 1, "action_key": "k", "bean_name": "b", "method_names": "m"}), "LOAN", "IDLE");
        json!({"ce_pending_action": [action], "ce_rule": [rule(1, [PRE, "LOAN", "IDLE"], condition, ["SET_STATE", "DONE"])]})
    };
    expect(
        confirm(ALWAYS),
        &["confirm-without-result ce_rule[1].match_pattern"],
        confirm(["JSON_PATH", "$.inputParams.pending_action_result != null"]),
    );
    let intent = |code: &str| json!({"ce_rule": [rule(1, [PRE, "LOAN", "ANY"], ["EXACT", "card"], ["SET_INTENT", code])]});
    expect(intent("CARDS"), &["unknown-intent ce_rule[1].action_value"], intent("card"));
}

#[test]
fn unreachable_states() {
    let states = |hint: &str| {
        json!({
            "ce_intent": [{"intent_code": "LOAN", "description": "loans", "llm_hint": hint}],
            "ce_rule": [rule(1, [PRE, "LOAN", "CONFIRM"], ["EXACT", "yes"], ["SET_STATE", "DONE"])],
            "ce_response": [exact(1, "ANY", "ANY"), exact(2, "LOAN", "CONFIRM")],
        })
    };
    expect(states("none"), &["unreachable-state ce_response[2].state_code"], states("set the state CONFIRM when all is known"));
    let begin = |phase: &str| {
        json!({
            "ce_intent_classifier": [classifier(1, "CONTAINS", "loan", "LOAN", "UNKNOWN")],
            "ce_rule": [rule(1, [phase, "LOAN", "UNKNOWN"], ALWAYS, ["SET_STATE", "ANALYZE"])],
        })
    };
    expect(begin("POST_AGENT_INTENT"), &["bootstrap-phase-unreachable ce_rule[1].phase"], begin("POST_CLASSIFIER_INTENT"));
    let of_model = |phase: &str| json!({"ce_rule": [rule(1, [phase, "LOAN", "UNKNOWN"], ALWAYS, ["SET_STATE", "ANALYZE"])]});
    expect(of_model("POST_CLASSIFIER_INTENT"), &["bootstrap-phase-unreachable ce_rule[1].phase"], of_model("POST_AGENT_INTENT"));
}

#[test]
fn states_without_a_response() {
    let answers = |state: &str| {
        json!({
            "ce_intent_classifier": [classifier(1, "CONTAINS", "loan", "LOAN", "UNKNOWN")],
            "ce_rule": [rule(1, [PRE, "LOAN", "UNKNOWN"], ["EXACT", "yes"], ["SET_STATE", "DONE"])],
            "ce_response": [exact(1, "UNKNOWN", "ANY"), exact(2, "LOAN", "UNKNOWN"), exact(3, "LOAN", state)],
        })
    };
    expect(answers("IDLE"), &["state-without-answer ce_rule[1].action_value"], answers("DONE"));
    let left = |phase: &str| {
        let mut tables = answers("IDLE");
        let leave = rule(2, [phase, "LOAN", "DONE"], ALWAYS, ["SET_INTENT", "UNKNOWN"]);
        tables["ce_rule"].as_array_mut().unwrap().push(leave);
        tables
    };
    // Before the answer, or with the next message only.
    expect(left("POST_DIALOGUE_ACT"), &["state-without-answer ce_rule[1].action_value"], left(PRE));
    let classified = |state: &str| {
        json!({
            "ce_intent_classifier": [classifier(1, "CONTAINS", "loan", "LOAN", state)],
            "ce_rule": [rule(1, [PRE, "CARD", "IDLE"], ["EXACT", "yes"], ["SET_INPUT_PARAM", "a:1"])],
            "ce_response": [exact(1, "UNKNOWN", "ANY"), exact(2, "LOAN", "IDLE")],
        })
    };
    expect(classified("UNKNOWN"), &["state-without-answer ce_intent_classifier[1].state_code"], classified("IDLE"));
    expect(
        json!({"ce_response": [exact(1, "LOAN", "ANY")]}),
        &["no-fallback-response ce_response"],
        json!({"ce_response": [exact(1, "LOAN", "ANY"), exact(2, "UNKNOWN", "ANY")]}),
    );
}

#[test]
fn responses_without_templates_or_never_chosen() {
    let made = |format: &str, state: &str| {
        json!({
            "ce_response": [exact(1, "ANY", "ANY"), derived(2, "LOAN", "IDLE", "TEXT")],
            "ce_prompt_template": [template(5, ["LOAN", state], format)],
            "ce_rule": [rule(1, [PRE, "LOAN", "IDLE"], ["EXACT", "x"], ["SET_INPUT_PARAM", "a:1"])],
        })
    };
    expect(made("JSON", "IDLE"), &["!derived-without-template ce_response[2].response_type"], made("TEXT", "ANY"));
    expect(
        made("DERIVED", "IDLE"),
        &["!derived-without-template ce_response[2].response_type", "!schema-column ce_prompt_template[5].output_format"],
        made("TEXT", "IDLE"),
    );
    let mut json_answer = made("JSON", "ANY");
    json_answer["ce_response"][1] = derived(2, "LOAN", "IDLE", "JSON");
    assert_eq!(findings(&with_base(json_answer.clone())), [""; 0]);
    json_answer["ce_response"][1]["json_schema"] = Value::Null;
    assert_eq!(findings(&with_base(json_answer)), ["json-without-schema ce_response[2].json_schema"]);
    let ranked = |of_state: u32, again: &str| {
        let mut rows = json!({
            "ce_response": [exact(1, "ANY", "ANY"), exact(2, "LOAN", "IDLE"), exact(3, "LOAN", again), exact(4, "LOAN", "ANY")],
            "ce_rule": [rule(1, [PRE, "LOAN", "IDLE"], ["EXACT", "x"], ["SET_STATE", "B"])],
        });
        rows["ce_response"][1]["priority"] = of_state.into();
        rows
    };
    expect(ranked(1091, "B"), &["priority-outweighs-specificity ce_response[2].priority"], ranked(1090, "B"));
    expect(ranked(101, "IDLE"), &["shadowed-row ce_response[2].priority"], ranked(101, "B"));
    expect(ranked(99, "IDLE"), &["shadowed-row ce_response[3].priority"], ranked(99, "B"));
}

#[test]
fn templates_and_schemas_that_do_not_match() {
    let twice = |state: &str| {
        json!({
            "ce_prompt_template": [template(1, ["LOAN", "ANY"], "TEXT"), template(2, ["LOAN", state], "TEXT")],
            "ce_rule": [rule(1, [PRE, "LOAN", "IDLE"], ["EXACT", "x"], ["SET_INPUT_PARAM", "a:1"])],
        })
    };
    expect(twice("ANY"), &["shadowed-row ce_prompt_template[2].output_format"], twice("IDLE"));
    let mut extracting = twice("ANY");
    extracting["ce_prompt_template"] = json!([template(1, ["LOAN", "ANY"], "SCHEMA_JSON"), template(2, ["LOAN", "ANY"], "SCHEMA_JSON")]);
    assert_eq!(findings(&with_base(extracting)), ["shadowed-row ce_prompt_template[1].output_format"], "extraction takes the newest");
    let extracted = |state: &str, next: &str| {
        json!({
            "ce_output_schema": [scoped(json!({"schema_id": 7, "json_schema": {"properties": {}}, "priority": 1}), "LOAN", "IDLE")],
            "ce_prompt_template": [template(1, ["LOAN", state], "SCHEMA_JSON")],
            "ce_rule": [rule(1, [PRE, "LOAN", "IDLE"], ["EXACT", "x"], ["SET_STATE", next])],
        })
    };
    let at = "schema-without-extractor ce_output_schema[7].intent_code";
    expect(extracted("DONE", "DONE"), &[&format!("!{at}")], extracted("ANY", "DONE"));
    assert_eq!(findings(&with_base(extracted("IDLE", "DONE"))), [""; 0], "fields that other states extract need no prompt");
    let everywhere = |next: &str| {
        let mut rows = extracted("IDLE", next);
        rows["ce_output_schema"][0]["state_code"] = "ANY".into();
        rows
    };
    expect(everywhere("DONE"), &[at], everywhere("IDLE"));
}

#[test]
fn unknown_variables_of_templates() {
    let exact_text = |text: &str| {
        let mut row = exact(1, "ANY", "ANY");
        row["exact_text"] = text.into();
        json!({"ce_response": [row]})
    };
    for (bad, rule, good) in [
        ("{{context.agent.finalAnswer}}", "unknown-context-path", "{{context.mcp.finalAnswer}}"),
        ("{{user_input}}", "unknown-variable", "{{userText}}"),
        ("{{session.customerId}}", "unknown-variable", "{{session.userText}} {{inputParams.customerId}}"),
        ("{{customer.name}}", "unset-variable", "{{inputParams.customer.name}} {{responseType}}"),
        ("{{conversation_id}}", "unknown-variable", "{{conversationId}}"),
    ] {
        expect(exact_text(bad), &[&format!("{rule} ce_response[1].exact_text")], exact_text(good));
    }
    let prompt = |text: &str| {
        let mut row = template(1, ["LOAN", "ANY"], "TEXT");
        row["system_prompt"] = text.into();
        json!({"ce_prompt_template": [row]})
    };
    let at = "unknown-variable ce_prompt_template[1].system_prompt";
    expect(prompt("{{session.user_text}}"), &[at], prompt("{{user_input}} {{conversation_history}} {{user_text}}"));
}

/// A pending action whose task a script carries out, and a text.
fn scripted(set: &str, members: Value, text: &str) -> Value {
    let mut response = exact(1, "ANY", "ANY");
    response["exact_text"] = format!("{{{{inputParams.pending_action_result}}}} {text}").into();
    let action = json!({"pending_action_id": 1, "action_key": "A", "bean_name": "orders", "method_names": "cancel"});
    json!({
        "ce_pending_action": [scoped(action, "LOAN", "ANY")],
        "ce_task": [{"task_id": 1, "kind": "TASK", "task": "orders:cancel", "binding": {"script": {set: members}}}],
        "ce_response": [response],
    })
}

#[test]
fn misspelled_names_of_texts() {
    let at = ["misspelled-name ce_response[1].exact_text"];
    for (set, bad, good) in [
        ("set_context", "{{context.orderNr}}", "{{context.orderNo}}"),
        ("set_context", "{{session.context.order_no}}", "{{session.context.orderNo}}"),
        ("set_context", "{{orderNr}}", "{{orderNo}}"),
        ("set_context", "{{context.ticket.refrence}}", "{{context.ticket.reference}}"),
        ("set_context", "{{ticket.refrence}}", "{{ticket.reference}}"),
        ("set_params", "{{inputParams.orderNr}}", "{{inputParams.orderNo}}"),
        ("set_params", "{{safeInputParams.ordreNo}}", "{{safeInputParams.orderNo}}"),
        ("set_params", "{{inputParams.pending_action_reslt}}", "{{inputParams.pending_action_task_result}}"),
        ("set_params", "[# th:if=\"${inputParams.orderNr != null}\"]x[/]", "[# th:each=\"orderNr : ${inputParams.ticket}\"]{{orderNr}}[/]"),
    ] {
        let members = || json!({"orderNo": "{{inputParams.order}}", "ticket": {"reference": 1}});
        expect(scripted(set, members(), bad), &at, scripted(set, members(), good));
    }
    // What a client or an unknown task may set is no misspelling, however near the name is in meaning.
    let members = json!({"orderNo": 1, "line1": 1, "amount": 1, "item": 1, "card": 1, "order_no": {"of": 1}});
    for other in ["orderId", "line2", "account", "items", "cart", "customer", "order_id", "context"] {
        let fine = scripted("set_params", members.clone(), &format!("{{{{inputParams.{other}}}}}"));
        assert_eq!(findings(&with_base(fine)), [""; 0], "{other}");
    }
}

#[test]
fn misspelled_names_beside_texts() {
    let replies = [json!({"set_context": {"orderNo": 1}, "set_params": {"reference": 2}})];
    let check = |tables: Value| findings_beside(&with_base(tables), &Value::Null, &replies);
    let call = |url: &str, body: &str| {
        let binding = json!({"http": {"url": format!("https://a.example/{url}"), "body": {"n": body}}});
        json!({"ce_task": [{"task_id": 1, "kind": "TASK", "task": "orders:cancel", "binding": binding}]})
    };
    let rule_of = |kind: &str, path: &str, action: [&str; 2]| {
        let call = rule(1, [PRE, "LOAN", "ANY"], ["EXACT", "cancel"], ["SET_TASK", "orders:cancel"]);
        json!({"ce_rule": [call, rule(2, [PRE, "LOAN", "ANY"], [kind, path], action)]})
    };
    let set = ["SET_INPUT_PARAM", "a:1"];
    let tool = |body: &str| {
        json!({
            "ce_mcp_tool": [scoped(json!({"tool_id": 1, "tool_code": "a.b", "tool_group": "HTTP_API"}), "LOAN", "ANY")],
            "ce_http_tool": [{"tool_id": 1, "method": "GET", "url_template": "https://a.example/", "query": {"n": body}}],
        })
    };
    for (bad, at, good) in [
        (call("{{context.orderNr}}", ""), "ce_task[1].binding", call("{{context.orderNo}}", "{{task}}")),
        (call("x", "{{refrence}}"), "ce_task[1].binding", call("x", "{{reference}} {{input.refrence}}")),
        (tool("{{context.orderNr}}"), "ce_http_tool[1].query", tool("{{context.orderNo}} {{orderNr}}")),
        (rule_of("JSON_PATH", "$.inputParams.refrence != null", set), "ce_rule[2].match_pattern", rule_of("EXACT", "x", set)),
        (rule_of("JSON_PATH", "$[?(@.orderNr > 1)]", set), "ce_rule[2].match_pattern", rule_of("JSON_PATH", "$[?(@.orderNo > 1)]", set)),
        (rule_of("CONTEXT_JSON_PATH", "$.orderNr", set), "ce_rule[2].match_pattern", rule_of("CONTEXT_JSON_PATH", "$.orderNo", set)),
        (
            rule_of("EXACT", "x", ["SET_JSON", "n:$.context.orderNr"]),
            "ce_rule[2].action_value",
            rule_of("EXACT", "x", ["SET_JSON", "referenz:$.inputParams.referenz"]),
        ),
    ] {
        assert_eq!(check(bad), [format!("misspelled-name {at}")]);
        assert_eq!(check(good), [""; 0], "{at}");
    }
    let copied = rule_of("JSON_PATH", "$.inputParams.order_no != null", ["SET_JSON", "orderNo:$.inputParams.order_no"]);
    assert_eq!(check(copied), [""; 0], "a rule gives another name to what a client sends");
    let mut formula = scripted("set_params", json!({"fee": "= context.orderNr * 2"}), "");
    formula["ce_task"][0]["binding"]["script"]["set_context"] = json!({"orderNo": 1});
    assert_eq!(findings(&with_base(formula)), ["misspelled-name ce_task[1].binding"]);
}

#[test]
fn names_that_nothing_sets_where_all_writes_are_known() {
    let at = "ce_response[1].exact_text";
    let set = || json!({"orderNo": 1});
    let good = || scripted("set_context", set(), "{{orderNo}} {{context.mcp.finalAnswer}} {{pending_action_runtime_status}}");
    expect(scripted("set_context", set(), "{{customer}}"), &[&format!("unset-variable {at}")], good());
    expect(scripted("set_context", set(), "{{context.customer.name}}"), &[&format!("unknown-context-path {at}")], good());
    let condition = |path: &str| {
        let mut tables = good();
        tables["ce_rule"] = json!([rule(3, [PRE, "LOAN", "ANY"], ["JSON_PATH", path], ["SET_INPUT_PARAM", "a:1"])]);
        tables
    };
    let unknown = ["unknown-context-path ce_rule[3].match_pattern"];
    expect(condition("$.context.customer != null"), &unknown, condition("$.context.orderNo != null"));
    // Whatever else may write leaves names unknown: a service, another task, a formula in place of an object.
    let text = "{{customer}} {{context.customer.name}}";
    let mut by_service = scripted("set_context", set(), text);
    by_service["ce_task"][0]["binding"] = json!({"http": {"url": "https://a.example/"}});
    let mut by_task = scripted("set_context", set(), text);
    by_task["ce_task"][0]["task"] = "orders:other".into();
    for open in [by_service, by_task, scripted("set_context", json!("= input"), text)] {
        assert_eq!(findings(&with_base(open)), [""; 0]);
    }
}

#[test]
fn unknown_tools_and_tied_actions() {
    let tools = |prompt: &str, intent: &str| {
        let tool = |id: u32, code: &str| scoped(json!({"tool_id": id, "tool_code": code, "tool_group": "DB"}), intent, "ANY");
        json!({
            "ce_mcp_tool": [tool(1, "loan.rating"), tool(2, "loan.submit")],
            "ce_mcp_planner": [scoped(json!({"planner_id": 9, "system_prompt": prompt, "user_prompt": "u"}), "LOAN", "ANY")],
        })
    };
    let good = || tools("First `loan.rating`, then `loan.submit`; the `answer` stands in `context.mcp`.", "LOAN");
    expect(tools("Call `loan.check` first.", "LOAN"), &["unknown-tool ce_mcp_planner[9].system_prompt"], good());
    expect(tools("Call `loan.rating` first.", "CARD"), &["tool-out-of-scope ce_mcp_planner[9].system_prompt"], good());
    let actions = |priority: u32| {
        let row = |id: u32, key: &str, priority: u32| {
            let row = json!({"pending_action_id": id, "action_key": key, "bean_name": "b", "method_names": "m", "priority": priority});
            scoped(row, "LOAN", "ANY")
        };
        let failed =
            rule(1, [PRE, "LOAN", "ANY"], ["JSON_PATH", "$.inputParams.pending_action_result == 'FAILED'"], ["SET_STATE", "SORRY"]);
        json!({"ce_pending_action": [row(1, "A", 10), row(2, "B", priority)], "ce_rule": [failed]})
    };
    expect(actions(10), &["tied-pending-actions ce_pending_action[2].priority"], actions(20));
}

#[test]
fn failures_of_pending_actions_that_nothing_handles() {
    let offer = |rules: Value| {
        let row = json!({"pending_action_id": 1, "action_key": "A", "bean_name": "refills", "method_names": "order"});
        json!({"ce_pending_action": [scoped(row, "LOAN", "CONFIRM")], "ce_rule": rules, "ce_response": [exact(1, "ANY", "ANY")]})
    };
    let reached = rule(1, [PRE, "LOAN", "IDLE"], ["EXACT", "go on"], ["SET_STATE", "CONFIRM"]);
    let asks = |phase: &str, state: &str, condition: &str| {
        offer(json!([reached, rule(2, [phase, "LOAN", state], ["JSON_PATH", condition], ["SET_STATE", "DONE"])]))
    };
    let result = |is: &str| format!("$.inputParams.pending_action_result {is}");
    let at = ["unhandled-failure ce_pending_action[1].bean_name"];
    let good = || asks(PRE, "CONFIRM", &result("== 'FAILED'"));
    for bad in [
        offer(json!([reached])),
        asks(PRE, "CONFIRM", &result("== 'EXECUTED'")),
        asks(PRE, "IDLE", &result("== 'FAILED'")),
        asks(PRE, "CONFIRM", "$.inputParams.pending_action_runtime_status == 'EXPIRED'"),
        asks("POST_SCHEMA_EXTRACTION", "CONFIRM", &result("== 'FAILED'")),
    ] {
        expect(bad, &at, good());
    }
    for fine in [result("!= 'EXECUTED'"), result("!= null"), "$.context.pending_action_runtime.status == 'FAILED'".to_owned()] {
        assert_eq!(findings(&with_base(asks(PRE, "ANY", &fine))), [""; 0], "{fine}");
    }
    let mut told = offer(json!([reached]));
    told["ce_response"][0]["exact_text"] = "Result: {{inputParams.pending_action_result}}.".into();
    assert_eq!(findings(&with_base(told)), [""; 0], "the text of the answer has the result");
    let mut late = offer(json!([reached]));
    late["ce_response"][0]["exact_text"] =
        "[# th:if=\"${inputParams.pending_action_runtime_status == 'EXPIRED'}\"]Too late. [/]Sure?".into();
    assert_eq!(findings(&with_base(late)), at, "the text tells of the end of the offer alone");
    let mut hooked = offer(json!([reached]));
    let hook = json!({"task_id": 1, "kind": "HOOK", "stage": "AFTER", "step": "PendingActionStep", "task": "refills:tell"});
    hooked["ce_task"] = json!([scoped(hook, "ANY", "ANY")]);
    assert_eq!(findings(&with_base(hooked)), [""; 0], "a hook may do anything");
}

#[test]
fn tools_that_change_something() {
    let tables = |method: &str, spec: &str, planner: bool, mode: &str| {
        let rows = |is_there: bool, row: Value| if is_there { json!([row]) } else { json!([]) };
        let planner_row = scoped(json!({"planner_id": 1, "system_prompt": "s", "user_prompt": "u"}), "LOAN", "ANY");
        let confirming = json!({"template_id": 9, "intent_code": "LOAN", "state_code": "ANY", "output_format": "TEXT", "interaction_mode": mode,
            "system_prompt": "s", "user_prompt": "u"});
        json!({
            "ce_mcp_tool": [scoped(json!({"tool_id": 1, "tool_code": "a.b", "tool_group": "HTTP_API"}), "LOAN", "ANY")],
            "ce_http_tool": [{"tool_id": 1, "method": method, "url_template": "https://a.example/"}],
            "cv_tool_spec": rows(!spec.is_empty(), json!({"tool_id": 1, "spec": spec})),
            "ce_mcp_planner": rows(planner, planner_row),
            "ce_prompt_template": rows(!mode.is_empty(), confirming),
        })
    };
    let finding = |rule: &str| format!("{rule} ce_mcp_tool[1].tool_code");
    let good = || tables("POST", "", true, "CONFIRM");
    expect(tables("POST", "", false, "CONFIRM"), &[&finding("write-never-planned")], good());
    expect(tables("DELETE", "", true, "COLLECT"), &[&finding("write-never-confirmed")], good());
    expect(tables("PUT", r#"{"approval": "never"}"#, true, "CONFIRM"), &[&finding("write-without-consent")], good());
    expect(tables("POST", r#"{"effect": "read"}"#, true, ""), &[&finding("write-without-consent")], good());
    for fine in [
        tables("GET", "", false, ""),
        tables("POST", r#"{"effect": "read"}"#, false, ""),
        tables("POST", r#"{"approval": "write"}"#, true, ""),
    ] {
        assert_eq!(findings(&with_base(fine.clone())), [""; 0], "{fine}");
    }
}

#[test]
fn invalid_bindings_of_tools_and_tasks() {
    let tools = |id: u32, headers: Value| {
        json!({
            "ce_mcp_tool": [scoped(json!({"tool_id": 1, "tool_code": "a.b", "tool_group": "HTTP_API"}), "LOAN", "ANY")],
            "ce_http_tool": [{"tool_id": id, "url_template": "https://a.example/", "headers": headers}],
        })
    };
    let good = || tools(1, json!({"Authorization": "{{inputParams.token}}", "X-Source": "desk"}));
    let without_setup = ["write-never-planned ce_mcp_tool[1].tool_code", "setup-without-tool ce_http_tool[2].tool_id"];
    expect(tools(2, json!({})), &without_setup, good());
    expect(tools(1, json!({"authorization": "Bearer abc"})), &["credential-in-row ce_http_tool[1].headers"], good());
    let task = |binding: Value, name: &str| {
        json!({
            "ce_task": [{"task_id": 1, "kind": "TASK", "task": "a:b", "binding": binding}],
            "cv_extension": [{"name": name, "module": "a".repeat(64)}],
        })
    };
    let at = "ce_task[1].binding";
    expect(task(json!({"extension": "fee"}), "fees"), &[&format!("unknown-extension {at}")], task(json!({"extension": "fee"}), "fee"));
    let call = |headers: Value| task(json!({"http": {"url": "https://a.example/", "headers": headers}}), "fee");
    expect(call(json!({"X-Api-Key": "k-1"})), &[&format!("credential-in-row {at}")], call(json!({"X-Id": "k-1"})));
}

#[test]
fn progress_messages_that_are_never_shown() {
    let rows = |priority: u32, step: &str, determinant: &str| {
        let row = |id: u32, intent: &str, step: &str, determinant: &str, priority: u32| {
            json!({"verbose_id": id, "intent_code": intent, "state_code": "ANY", "step_match": "EXACT", "step_value": step,
                "determinant": determinant, "message": "m", "priority": priority})
        };
        json!({"ce_verbose": [row(1, "ANY", "McpToolStep", "MCP_TOOL_CALL", 1), row(2, "LOAN", step, determinant, priority)]})
    };
    let at = "ce_verbose[2].priority";
    let call = "MCP_TOOL_CALL";
    expect(rows(402, "McpToolStep", call), &[&format!("priority-outweighs-specificity {at}")], rows(400, "McpToolStep", call));
    assert_eq!(findings(&with_base(rows(900, "McpToolStep", "MCP_FINAL_ANSWER"))), [""; 0], "another event");
    expect(rows(1, "AgentToolStep", call), &["unknown-step ce_verbose[2].step_value"], rows(1, "McpToolStep", call));
    for (unknown, known) in [("McpTolStep", "mcptoolstep"), ("Correction", "ANY")] {
        expect(rows(1, unknown, call), &["unknown-step ce_verbose[2].step_value"], rows(1, known, call));
    }
    let mut pattern = rows(1, "Tool.*Stepp", call);
    pattern["ce_verbose"][1]["step_match"] = "REGEX".into();
    assert_eq!(findings(&with_base(pattern)), ["unknown-step ce_verbose[2].step_value"]);
    let mut same = rows(2, "McpToolStep", call);
    same["ce_verbose"][1]["intent_code"] = "ANY".into();
    assert_eq!(findings(&with_base(same)), [format!("shadowed-row {at}")]);
}

#[test]
fn invalid_and_disabled_rows_are_skipped() {
    let broken = rule(1, [PRE, "LOAN", "ANY"], ["JSON_PATH", "$.confidence ="], ["SET_STATE", "NOWHERE"]);
    assert_eq!(findings(&with_base(json!({"ce_rule": [broken]}))), [""; 0]);
    let mut off = rule(1, [PRE, "LOAN", "ANY"], ["JSON_PATH", "$.confidence"], ["SET_STATE", "DONE"]);
    assert_eq!(findings(&with_base(json!({"ce_rule": [off.clone()]}))), ["unknown-fact-path ce_rule[1].match_pattern"]);
    off["enabled"] = json!(false);
    assert_eq!(findings(&with_base(json!({"ce_rule": [off]}))), [""; 0]);
}

#[test]
fn a_profile_is_checked_as_it_runs() {
    let v1 = json!({"pipeline": {"profile": "v1"}});
    let tables = with_base(json!({
        "ce_intent_classifier": [classifier(1, "CONTAINS", "loan", "LOAN", "FOUND")],
        "ce_rule": [
            rule(1, ["AGENT_POST_INTENT", "LOAN", "FOUND"], ALWAYS, ["SET_STATE", "ASKED"]),
            rule(2, ["POST_AGENT_MCP", "LOAN", "ASKED"], ALWAYS, ["SET_INTENT", "NOBODY"]),
        ],
        "ce_response": [exact(1, "ANY", "ANY"), {"response_id": 2, "intent_code": "CARD", "state_code": "ANY", "output_format": "TEXT",
            "response_type": "EXACT", "exact_text": "{{user_input}}", "priority": 100}],
        "ce_pending_action": [{"pending_action_id": 1, "intent_code": "LOAN", "state_code": "NOWHERE", "action_key": "A", "bean_name": "b",
            "method_names": "m"}],
    }));
    let found = findings(&tables);
    for rule in ["bootstrap-phase-unreachable", "unknown-intent", "unknown-variable"] {
        assert!(found.iter().any(|it| it.starts_with(rule)), "{rule}: {found:?}");
    }
    // In v1 the model always resolves the intent, the second rule never runs, response texts are not templates, and classifiers set no
    // state.
    assert_eq!(findings_with(&tables, &v1), ["unreachable-state ce_rule[1].state_code"]);
}

#[test]
fn calls_of_a_model_that_is_off_are_reported() {
    let calls = |tables: Value| {
        let tables: Tables = serde_json::from_value(with_base(tables)).unwrap();
        let (config, issues) = Config::compile(&tables, &Value::Null);
        let found = check_without_model(&tables, config.settings.profile, &issues);
        assert!(found.iter().all(|it| it.rule == "model-is-off" && !it.is_error()));
        found.into_iter().map(|it| it.path).collect::<Vec<String>>()
    };
    let values = scoped(json!({"schema_id": 7, "json_schema": {"properties": {"amount": {}}}, "priority": 1}), "LOAN", "ANY");
    let all = json!({
        "ce_response": [exact(1, "ANY", "ANY"), derived(2, "LOAN", "ANY", "TEXT"), derived(3, "CARD", "ANY", "TEXT")],
        "ce_prompt_template": [template(1, ["ANY", "ANY"], "TEXT"), template(2, ["LOAN", "ANY"], "SCHEMA_JSON")],
        "ce_output_schema": [values],
    });
    assert_eq!(calls(all), ["ce_intent", "ce_response[2].response_type", "ce_output_schema[7].json_schema"]);
    assert_eq!(calls(json!({})), ["ce_intent"]);
    assert_eq!(calls(json!({"ce_intent": []})), [""; 0], "without intents no model is asked for one");
}
