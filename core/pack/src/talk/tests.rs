//! Valid talks, invalid ones with the reported position, and random ones that must not panic.

use convengine_turn::EffectErrorKind;
use serde_json::{Value, json};

use super::super::{Check, Pack, ScriptedCall};

const CONFIG: &str = r#"{"name": "shop", "about": "a shop", "settings": {"flow": {"dialogueAct": {"llmThreshold": 0.9}}},
    "llm": [{"reply": "no"}], "turns": [{"admin_sql": "drop"}]}"#;

const FULL_TALK: &str = r#"# asks before it files
# a second comment is ignored
name loan
program pipeline v2
config shop.json
at 2026-02-01T00:00:00Z
set flow.dialogue-act.llm-threshold=0.5
set convengine.flow.query-rewrite.enabled = false
set input.note=two words

> I need a loan
	llm DIALOGUE_ACT   {"act": "NEW_REQUEST"}   +850ms
  llm response_text  Shall I ask +5 banks? +2s
  llm policy timeout
  llm policy ! no line
  llm response_text "timeout"
< first line
<
< third line
<~ line
~ USER_INPUT, RULE_MATCH (RulesStep)
~! POLICY_BLOCK
= LOAN / IDLE
? context.a.0 = [1]
? audit.USER_INPUT.text ~ a = b
% Working
%! Resting
$ dialogue_act, policy
# between turns
> @b +45m yes
  task loan:file   {"result": "LA-1", "set_params": {"filed": true}}
  task loan:mail   timeout
  task loan:note   done   +5ms
  tool stock.count [{"n": 421}]
  container 1/20/300   {"rows": []}
< {"a": 1}
> +3d {"message": {"$repeat": "ab", "$length": 3}, "reset": true}
< "{not json}"
$ none
> +5 more, please
! LLM_CALL_FAILED
"#;

fn parse(text: &str) -> Result<Pack, String> {
    let config = |file: &str| if file == "shop.json" { Ok(CONFIG.to_owned()) } else { Err("file not found".to_owned()) };
    Pack::parse_talk(text, config).map_err(|it| it.to_string())
}

#[test]
fn a_talk_is_a_pack() {
    let pack = parse(FULL_TALK).unwrap();
    assert_eq!((pack.name.as_str(), pack.about.as_str(), pack.llm.len()), ("loan", "asks before it files", 1));
    let settings = json!({"flow": {"dialogueAct": {"llmThreshold": 0.5}, "query-rewrite": {"enabled": false}}, "input": {"note": "two words"}, "pipeline": {"profile": "v2"}});
    assert_eq!(pack.settings, settings);
    let bodies: Vec<&Value> = pack.turns.iter().filter_map(|it| it.request.as_ref()).map(|it| &it.body).collect();
    let texts: Vec<&Value> = bodies.iter().map(|it| &it["message"]).collect();
    assert_eq!(texts, ["I need a loan", "yes", "aba", "+5 more, please"]);
    assert_eq!(bodies[2]["reset"], true);
    assert_ne!(bodies[0]["conversationId"], bodies[1]["conversationId"]);
    assert_eq!(bodies[0]["conversationId"], bodies[3]["conversationId"]);
    let minutes: Vec<i64> = pack.turns.iter().filter_map(|it| it.at).map(|at| (at - 1_769_904_000_000) / 60_000).collect();
    assert_eq!(minutes, [0, 45, 45 + 3 * 1440, 46 + 3 * 1440]);
}

#[test]
fn answers_and_checks_are_parsed() {
    let pack = parse(FULL_TALK).unwrap();
    let answers = &pack.turns[0].answers;
    let calls: Vec<String> = answers.iter().map(|it| it.call.to_string()).collect();
    assert_eq!(calls, ["dialogue_act", "response_text", "policy", "policy", "response_text"]);
    assert_eq!(answers[0].call, ScriptedCall::Llm("dialogue_act".to_owned()));
    let replies: Vec<&Value> = answers.iter().map(|it| &it.reply).collect();
    assert_eq!(json!(replies), json!([{"act": "NEW_REQUEST"}, "Shall I ask +5 banks?", null, null, "timeout"]));
    assert_eq!(answers.iter().map(|it| it.delay_ms).collect::<Vec<_>>(), [850, 2000, 0, 0, 0]);
    let others = json!(pack.turns[1].answers.iter().map(|answer| json!([answer.call.to_string(), answer.reply])).collect::<Vec<_>>());
    let expected = json!([
        ["task loan:file", {"result": "LA-1", "set_params": {"filed": true}}],
        ["task loan:mail", null],
        ["task loan:note", {"result": "done"}],
        ["tool stock.count", [{"n": 421}]],
        ["container 1/20/300", {"rows": []}]
    ]);
    assert_eq!(others, expected);
    let errors: Vec<_> = answers.iter().filter_map(|it| it.error.as_ref()).collect();
    assert_eq!(errors[0].kind, EffectErrorKind::Timeout);
    assert_eq!((errors[1].kind, errors[1].message.as_str()), (EffectErrorKind::Unavailable, "no line"));
    let checks = |turn: usize| pack.turns[turn].checks.iter().map(|check| check.check.clone()).collect::<Vec<_>>();
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        checks(0),
        [
            Check::Reply("first line\n\nthird line".to_owned()),
            Check::ReplyContains("line".to_owned()),
            Check::Stages(list(&["USER_INPUT", "RULE_MATCH (RulesStep)"])),
            Check::NoStage("POLICY_BLOCK".to_owned()),
            Check::Place { intent: "LOAN".to_owned(), state: "IDLE".to_owned() },
            Check::Equals { path: "context.a.0".to_owned(), value: json!([1]) },
            Check::Contains { path: "audit.USER_INPUT.text".to_owned(), text: "a = b".to_owned() },
            Check::Verbose("Working".to_owned()),
            Check::NoVerbose("Resting".to_owned()),
            Check::Calls(list(&["dialogue_act", "policy"])),
        ]
    );
    assert_eq!(checks(1), [Check::ReplyJson(json!({"a": 1}))]);
    assert_eq!(checks(2), [Check::Reply("{not json}".to_owned()), Check::Calls(Vec::new())]);
    assert_eq!(checks(3), [Check::Fails("LLM_CALL_FAILED".to_owned())]);
    assert_eq!(pack.turns.iter().map(|it| it.line).collect::<Vec<_>>(), [11, 30, 37, 40]);
    assert_eq!(pack.turns[0].checks[1].line, 20);
}

#[test]
fn what_is_not_there_is_checked_as_such() {
    let pack = parse("config shop.json\n> a\n?! context.a\n?! context.b ~ x\n? context.c = null\n").unwrap();
    let absent = Check::Absent("context.a".to_owned());
    let lacks = Check::Lacks { path: "context.b".to_owned(), text: "x".to_owned() };
    let null = Check::Equals { path: "context.c".to_owned(), value: Value::Null };
    assert_eq!(pack.turns[0].checks.iter().map(|it| it.check.clone()).collect::<Vec<_>>(), [absent, lacks, null]);
    assert!(parse("config shop.json\n> a\n?! nowhere.a\n").unwrap_err().contains("unknown root 'nowhere'"));
    assert!(parse("config shop.json\n> a\n?!\n").unwrap_err().contains("the path"));
}

#[test]
fn a_talk_round_trips_as_json() {
    let pack = parse(FULL_TALK).unwrap();
    let text = serde_json::to_string(&pack).unwrap();
    let again = Pack::parse(&text).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&pack).unwrap());
    assert_eq!(again.turns[0].answers, pack.turns[0].answers);
    assert_eq!(again.turns[0].checks, pack.turns[0].checks);
}

#[test]
fn errors_have_line_and_column() {
    let head = "config shop.json\n> hi\n";
    for (text, place, hint) in [
        ("", "line 1, column 1", "the talk has no messages"),
        ("config shop.json\n\n", "line 2, column 1", "the talk has no messages"),
        ("> hi\n< a", "line 1, column 1", "the talk has no configuration"),
        ("config none.json\n> hi\n< a", "line 1, column 8", "cannot read 'none.json': file not found"),
        ("conf shop.json\n", "line 1, column 1", "unknown header line"),
        ("  < early", "line 1, column 3", "unknown header line"),
        ("config", "line 1, column 7", "the file of the pack is missing"),
        ("name  ", "line 1, column 5", "the name is missing"),
        ("program pipeline v3", "line 1, column 9", "write pipeline v1, pipeline v2, flow ID, workflow ID, agent ID or chain SLUG"),
        ("at noon", "line 1, column 4", "2026-01-01T09:00:00Z"),
        ("set a b", "line 1, column 5", "KEY=VALUE"),
        ("set =1", "line 1, column 5", "the key of the setting is missing"),
        ("config shop.json\n> hi\n\n> ho\n< a", "line 2, column 1", "the message has no checks"),
        ("config shop.json\n> hi", "line 2, column 1", "the message has no checks"),
        ("> @ hi", "line 1, column 4", "the label of the conversation is missing"),
        ("> +45x", "line 1, column 3", "invalid duration"),
        ("> {\"message\": }", "line 1, column 15", "invalid JSON (expected value)"),
    ] {
        assert_error(text, place, hint);
    }
    for (line, place, hint) in [
        ("  ask loanTask", "line 3, column 3", "begin an indented line with llm, task, tool or container"),
        ("  task", "line 3, column 7", "the task (bean:method) is missing"),
        ("  task a:b {\"reslt\": 1}", "line 3, column 12", "unknown member 'reslt' of a task reply"),
        ("  task a:b {\"set_params\": 1}", "line 3, column 12", "invalid task reply"),
        ("  tool", "line 3, column 7", "the code of the tool is missing"),
        ("  container ", "line 3, column 12", "the container (page/section/container) is missing"),
        ("  llm DIALOG_ACT {}", "line 3, column 7", "unknown purpose 'DIALOG_ACT'"),
        ("  llm", "line 3, column 6", "the purpose of the call is missing"),
        ("  llm policy", "line 3, column 13", "the answer is missing"),
        ("  llm policy +2s", "line 3, column 14", "the answer is missing"),
        ("  llm policy {\"ä\": x}", "line 3, column 20", "write text that only looks like JSON as a JSON string"),
        ("< a\n  llm policy no", "line 4, column 3", "move this line up"),
        ("name late", "line 3, column 1", "expected an indented answer"),
        ("< {\"a\"}", "line 3, column 7", "invalid JSON"),
        ("<~", "line 3, column 3", "the text that the reply contains is missing"),
        ("!", "line 3, column 2", "the error code is missing"),
        ("= LOAN", "line 3, column 3", "INTENT / STATE"),
        ("= / IDLE", "line 3, column 3", "the intent is missing"),
        ("= LOAN / IDLE now", "line 3, column 15", "the state must be one word"),
        ("~ A,, B", "line 3, column 5", "a stage is missing"),
        ("~!", "line 3, column 3", "the stage is missing"),
        ("? context.a", "line 3, column 3", "path = JSON"),
        ("? context.a = open", "line 3, column 15", "a string in quotes"),
        ("? contxt.a = 1", "line 3, column 3", "unknown root 'contxt'"),
        ("? context.a ~ ", "line 3, column 3", "path = JSON"),
        ("$", "line 3, column 2", "a call or 'none' is missing"),
        ("%", "line 3, column 2", "the progress message is missing"),
    ] {
        assert_error(&format!("{head}{line}\n"), place, hint);
    }
}

fn assert_error(text: &str, place: &str, hint: &str) {
    let error = parse(text).expect_err(text);
    assert!(error.contains(&format!("{place}: ")) && error.contains(hint), "{text:?} gave: {error}");
}

#[test]
fn the_parser_never_panics() {
    let seeds: Vec<char> = "><~!=?%$#@+ \t\n\r\"{}[]:,./\\0m9ä\u{feff}\u{2028}🦀llmset".chars().collect();
    let whole: Vec<char> = FULL_TALK.chars().collect();
    let mut rng = convengine_turn::Rng::new(7);
    let mut below = |limit: usize| usize::try_from(rng.next_u64() % u64::try_from(limit).unwrap()).unwrap();
    let (mut good, mut bad) = (0, 0);
    for _ in 0..4000 {
        let mut text = whole.clone();
        for _ in 0..=below(4) {
            let at = below(text.len());
            match below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, seeds[below(seeds.len())]),
                _ => text.truncate(at.max(20)),
            }
        }
        match parse(&text.into_iter().collect::<String>()) {
            Ok(pack) => good += usize::from(!pack.turns.is_empty()),
            Err(error) => bad += usize::from(error.contains("line ") && error.contains(", column ")),
        }
    }
    assert_eq!(good + bad, 4000);
    assert!(good > 200 && bad > 200, "{good} good, {bad} bad: the mutations miss one side");
}
