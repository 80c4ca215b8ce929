//! `convengine lint`: the mistakes that published configurations share, each as a pack, and no finding on the demo.

use std::fs;

use convengine_test_macros::test;
use convengine_tests::root;
use serde_json::Value;

use crate::harness::TestEnv;

/// The packs of `packs/lint` with their findings; errors are marked.
const EXPECTED: [(&str, &[&str]); 10] = [
    (
        "connection_transfer",
        &[
            "!derived-without-template ce_response[1].response_type",
            "!derived-without-template ce_response[2].response_type",
            "!derived-without-template ce_response[3].response_type",
            "!schema-without-extractor ce_output_schema[1].intent_code",
            "unhandled-failure ce_pending_action[1].bean_name",
            "unknown-task ce_pending_action[1].bean_name",
        ],
    ),
    (
        "faq_with_retrieval",
        &[
            "regex-doubled-escape ce_intent_classifier[1].pattern",
            "unknown-fact-path ce_rule[16].match_pattern",
            "unknown-fact-path ce_rule[19].match_pattern",
            "unknown-intent ce_rule[19].action_value",
        ],
    ),
    (
        "faq_without_retrieval",
        &[
            "regex-doubled-escape ce_intent_classifier[1].pattern",
            "state-without-answer ce_intent_classifier[1].state_code",
            "!derived-without-template ce_response[1].response_type",
            "!schema-column ce_prompt_template[1].output_format",
        ],
    ),
    (
        "inventory_lookup",
        &[
            "unknown-context-path ce_rule[1].match_pattern",
            "unknown-context-path ce_prompt_template[1].system_prompt",
            "unknown-tool ce_mcp_planner[1].system_prompt",
        ],
    ),
    (
        "loan_in_one_turn",
        &[
            "completes-on-error ce_rule[2].match_pattern",
            "bootstrap-phase-unreachable ce_rule[1].phase",
            "write-never-confirmed ce_mcp_tool[1].tool_code",
            "write-never-confirmed ce_mcp_tool[4].tool_code",
        ],
    ),
    (
        "loan_with_confirmation",
        &[
            "regex-doubled-escape ce_intent_classifier[108].pattern",
            "unknown-context-path ce_rule[133].match_pattern",
            "bootstrap-phase-unreachable ce_rule[129].phase",
            "unknown-context-path ce_prompt_template[126].system_prompt",
            "unknown-step ce_verbose[203].step_value",
        ],
    ),
    (
        "order_cancellation",
        &[
            "same-pass-cascade ce_rule[2].match_pattern",
            "confirm-without-result ce_rule[2].match_pattern",
            "!schema-without-extractor ce_output_schema[1].intent_code",
            "unknown-task ce_pending_action[1].bean_name",
        ],
    ),
    (
        "order_cancellation_unconfirmed",
        &[
            "unreachable-state ce_response[2].state_code",
            "unhandled-failure ce_pending_action[1].bean_name",
            "unknown-task ce_pending_action[1].bean_name",
        ],
    ),
    (
        "order_diagnostics",
        &[
            "completes-on-error ce_rule[3].match_pattern",
            "bootstrap-phase-unreachable ce_rule[1].phase",
            "state-without-answer ce_rule[4].action_value",
            "!schema-without-extractor ce_output_schema[1].intent_code",
            "write-never-confirmed ce_mcp_tool[1].tool_code",
            "write-never-confirmed ce_mcp_tool[2].tool_code",
        ],
    ),
    (
        "refill_misspelled",
        &[
            "misspelled-name ce_rule[2].match_pattern",
            "misspelled-name ce_response[1].exact_text",
            "misspelled-name ce_response[2].exact_text",
            "misspelled-name ce_task[1].binding",
        ],
    ),
];

/// The findings of the real binary for a file below `tests`, with its exit code.
fn lint(env: &TestEnv, file: &str) -> (i32, Vec<String>) {
    let path = root().join("tests").join(file).display().to_string();
    let output = env.run(&["lint", "--json", &path]);
    let issues: Vec<Value> = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{file}: {error}: {output:?}"));
    let text = |issue: &Value, member: &str| issue[member].as_str().unwrap().to_owned();
    let line = |issue: &Value| {
        let mark = if issue["severity"] == "error" { "!" } else { "" };
        format!("{mark}{} {}", text(issue, "rule"), text(issue, "path"))
    };
    (output.code, issues.iter().map(line).collect())
}

#[test]
fn the_mistakes_of_published_configurations_are_found() {
    let env = TestEnv::new();
    for (pack, expected) in EXPECTED {
        let (code, found) = lint(&env, &format!("packs/lint/{pack}.json"));
        assert_eq!(found, expected, "{pack}");
        assert_eq!(code, i32::from(expected.iter().any(|it| it.starts_with('!'))), "{pack}: only errors count");
    }
    let files = fs::read_dir(root().join("tests/packs/lint")).unwrap().count();
    assert_eq!(files, EXPECTED.len(), "a pack without expected findings, or findings without a pack");
}

#[test]
fn the_demo_has_no_finding_but_those_that_the_lab_shows() {
    let env = TestEnv::new();
    for file in fs::read_dir(root().join("tests/packs/demo")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let expected: &[&str] = match name.as_str() {
            "rule_lab.json" => &["unknown-context-path ce_rule[5].match_pattern", "rule-loop ce_rule[30].action_value"],
            _ => &[],
        };
        assert_eq!(lint(&env, &format!("packs/demo/{name}")), (0, expected.iter().map(|it| (*it).to_owned()).collect()), "{name}");
    }
}

#[test]
fn a_talk_is_linted_by_its_configuration() {
    let env = TestEnv::new();
    let path = root().join("tests/packs/lint/inventory_lookup.json").display().to_string();
    let talk = env.write("stock.talk", &format!("# asks\nconfig {path}\n> how many shoes?\n< none\n"));
    let (of_talk, of_pack) = (env.run(&["lint", &talk]), env.run(&["lint", &path]));
    assert_eq!((of_talk.code, of_talk.stdout.lines().count()), (0, 3), "{of_talk:?}");
    assert_eq!(of_talk.stdout, of_pack.stdout);
    assert!(
        of_talk.stdout.lines().all(|line| line.starts_with("warning ") && line.ends_with(')')),
        "each line names its check: {}",
        of_talk.stdout
    );
}

#[test]
fn calls_of_a_model_are_reported_where_the_settings_turn_it_off() {
    let env = TestEnv::new();
    let path = root().join("tests/packs/demo/card_replacement.json").display().to_string();
    let (silent, off) = (env.run(&["lint", &path]), env.run(&["lint", &path, "--llm", "off"]));
    assert_eq!((silent.code, silent.stdout.as_str()), (0, ""));
    let lines: Vec<&str> = off.stdout.lines().collect();
    assert!(off.code == 0 && !lines.is_empty() && lines.iter().all(|line| line.ends_with("(model-is-off)")), "{off:?}");
    assert!(lines[0].starts_with("warning ce_intent: "), "{off:?}");
    env.run(&["import", &path]);
    assert_eq!(env.run(&["lint", "--llm", "off"]).stdout, off.stdout, "the rows of the database");
}

#[test]
fn the_fake_service_of_a_pack_may_be_called_until_it_is_imported() {
    let env = TestEnv::new();
    for (file, code) in [("flow/bank_desk.json", "V003"), ("chain/refund.json", "X004")] {
        let path = root().join("tests/packs").join(file);
        let linted = env.run(&["lint", path.to_str().unwrap()]);
        assert!(linted.code == 0 && !linted.stdout.contains(code), "{linted:?}");
        let imported = env.run(&["import", path.to_str().unwrap()]);
        assert!(imported.code == 0 && imported.stderr.contains(&format!("error {code} ")), "{imported:?}");
        let mut pack: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        pack.as_object_mut().unwrap().shift_remove("http");
        let linted = env.run(&["lint", &env.write_pack("without.json", &pack)]);
        assert!(linted.code == 1 && linted.stdout.contains(&format!("error {code} ")), "{linted:?}");
    }
}
