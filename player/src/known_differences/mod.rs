//! Differences from recordings, each explained by a decision: rules rewrite what was recorded into what this engine answers.
//! (docs/decisions/0026-what-equal-means.md, tests/README.md)

mod java;
mod place;
mod reference;
mod rewrite;
mod rule;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use convengine_core::pack::Pack;
use serde_json::Value;

use self::rewrite::Rewriter;
use self::rule::RuleSet;
use super::expect::without_volatile;
use super::recording::with_parsed_rows;

/// Rules that explain differences from recordings.
#[derive(Debug, Default)]
pub struct KnownDifferences(RuleSet);

/// What a turn of a pack is expected to answer.
#[derive(Debug, Clone)]
pub struct ExpectedTurn {
    /// The expectation without volatile members, rewritten if the pack is a recording; `None` if the turn has none.
    pub expect: Option<Value>,
    /// Decisions that explain differences from the recording, with counts.
    pub explained: BTreeMap<String, usize>,
    /// Whether a difference concerns the reply itself, ignoring its context.
    pub is_reply_different: bool,
}

/// Members of an expectation that are the reply.
const REPLY: [&str; 6] = ["/status", "/json/payload", "/json/intent", "/json/state", "/json/success", "/json/errorCode"];

impl KnownDifferences {
    /// Parses a file of rules.
    ///
    /// # Errors
    /// Returns an error when the text is not YAML of this form, a rule names a turn of no recording, or a ruling is empty.
    pub fn parse(text: &str) -> Result<KnownDifferences> {
        Ok(KnownDifferences(RuleSet::parse(text)?))
    }

    /// Returns the names of the recordings, as listed.
    pub fn recordings(&self) -> impl Iterator<Item = &str> {
        self.0.recordings.iter().map(String::as_str)
    }

    /// Returns the rulings, as `docs/PAGE.md#ANCHOR: reason`.
    pub fn rulings(&self) -> impl Iterator<Item = &str> {
        self.0.rulings.iter().map(|it| it.ruling.as_str())
    }

    /// Returns the expectations of a pack, and the rules that name one of its turns and change nothing in it.
    ///
    /// # Errors
    /// Returns an error when a rule refers to what is not there.
    pub fn expectations(&self, pack: &Pack) -> Result<(Vec<ExpectedTurn>, Vec<String>)> {
        let (mut turns, mut idle) = (Vec::new(), Vec::new());
        let mut rewriter = Rewriter::new(&self.0, pack);
        for (number, turn) in pack.turns.iter().enumerate() {
            let recorded = turn.expect.as_ref().map(|expect| with_parsed_rows(without_volatile(expect), turn));
            let mut expected = ExpectedTurn { expect: recorded, explained: BTreeMap::new(), is_reply_different: false };
            if let Some(recording) = self.0.recording(&pack.name) {
                let recorded = expected.expect.take().unwrap_or_default();
                let (rewritten, changes) = rewriter.rewrite(recording, &recorded)?;
                for (ruling, changes) in self.0.rulings.iter().zip(changes) {
                    for (rule, changes) in ruling.rules.iter().zip(changes) {
                        let count: usize = changes.iter().sum();
                        if count > 0 {
                            *expected.explained.entry(ruling.ruling.clone()).or_default() += count;
                        } else if rule.names_turn(recording, number) {
                            idle.push(format!(
                                "turn {number}: a rule of '{}' changes nothing ({})",
                                ruling.ruling,
                                rule.parts().join(", ")
                            ));
                        }
                    }
                }
                expected.is_reply_different = REPLY.iter().any(|path| recorded.pointer(path) != rewritten.pointer(path));
                expected.expect = Some(rewritten).filter(|it| !it.is_null());
            }
            turns.push(expected);
        }
        Ok((turns, idle))
    }

    /// Returns the parts of rules that change nothing in any of these packs, which should be all recordings.
    ///
    /// # Errors
    /// Returns an error when a rule refers to what is not there.
    pub fn unused<'p>(&self, packs: impl Iterator<Item = &'p Pack>) -> Result<Vec<String>> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for pack in packs {
            let Some(recording) = self.0.recording(&pack.name) else { continue };
            let mut rewriter = Rewriter::new(&self.0, pack);
            for turn in &pack.turns {
                let recorded = turn.expect.as_ref().map_or(Value::Null, |expect| with_parsed_rows(without_volatile(expect), turn));
                let (_, changes) = rewriter.rewrite(recording, &recorded).with_context(|| pack.name.clone())?;
                for (ruling, changes) in self.0.rulings.iter().zip(changes) {
                    for (at, (rule, changes)) in ruling.rules.iter().zip(changes).enumerate() {
                        let owner = rule.shape.clone().unwrap_or_else(|| format!("'{}', rule {}", ruling.ruling, at + 1));
                        for (index, part) in rule.parts().into_iter().enumerate() {
                            *counts.entry(format!("{owner}: {part}")).or_default() += changes.get(index).copied().unwrap_or_default();
                        }
                    }
                }
            }
        }
        Ok(counts.into_iter().filter(|it| it.1 == 0).map(|it| it.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expect::{PlayedTurn, differences};

    /// Returns a recording of one conversation with these expectations.
    fn recording(expectations: &[Value]) -> Pack {
        let turn = |expect: &Value| json!({"request": {"method": "POST", "path": "/", "body": {"message": "hello"}}, "expect": expect});
        let turns: Vec<Value> = expectations.iter().map(turn).collect();
        Pack::parse(&json!({"name": "s01_orders", "turns": turns}).to_string()).expect("a pack")
    }

    fn parse(rules: &str) -> Result<KnownDifferences> {
        let head = "recordings: [s01_orders]\nnames: {$codes: [json.intent, json.state]}";
        let shapes = "shapes: {refused: [{set: {json.intent: NONE}, remove: [json.state]}]}";
        KnownDifferences::parse(&format!("{head}\n{shapes}\nrulings:\n{rules}"))
    }

    fn one_ruling(rules: &str) -> KnownDifferences {
        parse(&format!("- ruling: why\n  rules: {rules}")).expect("rules")
    }

    fn rewrite(rules: &str, expectations: &[Value]) -> Value {
        let (turns, idle) = one_ruling(rules).expectations(&recording(expectations)).expect("rules that fit");
        assert_eq!(idle, Vec::<String>::new(), "{rules}");
        turns.into_iter().filter_map(|it| it.expect).next_back().unwrap_or_default()
    }

    fn recorded() -> Value {
        json!({
            "status": 200,
            "json": {"intent": "A", "state": "S", "context": {"mcp": {"lifecycle": {"status": "X"}}}},
            "audit": [{"stage": "IN", "payload": {"text": "known: {a=1}"}}, {"stage": "RULE"}, {"stage": "RULE", "payload": {"id": 1}}],
            "steps": ["One", "Two", "Three"],
        })
    }

    #[test]
    fn rules_rewrite_a_recorded_turn() {
        for (rule, path, expected) in [
            ("set: {json.intent: B}", "/json/intent", json!("B")),
            ("set: {$codes: B}", "/json/state", json!("B")),
            ("set: {json.context.mcp.lifecycle.status: '${absent}'}", "/json/context/mcp", json!({"lifecycle": {}})),
            (
                "set: {json.context.name: '${text:json.context.mcp} of ${json.intent}'}",
                "/json/context/name",
                json!(r#"{"lifecycle":{"status":"X"}} of A"#),
            ),
            ("set: {json.context.*.parent: '${parent}'}", "/json/context/mcp/parent", json!("mcp")),
            (
                "merge: {json.context: {mcp: {lifecycle: {done: true}}}}",
                "/json/context/mcp/lifecycle",
                json!({"status": "X", "done": true}),
            ),
            ("replace: {known: told}", "/audit/0/payload/text", json!("told: {a=1}")),
            ("json: [audit.IN.text]", "/audit/0/payload/text", json!(r#"known: {"a":1}"#)),
            ("insert: {audit.IN: [{NEXT: {id: 2}}, {LAST: null}]}", "/audit/1", json!({"stage": "NEXT", "payload": {"id": 2}})),
            ("insert: {audit: [{END: null}]}", "/audit/3", json!({"stage": "END"})),
            ("insert: {audit: '${audit.IN..RULE}'}", "/audit/4", json!({"stage": "RULE"})),
            ("insert: {steps.Two: [Between]}", "/steps", json!(["One", "Two", "Between", "Three"])),
            ("remove: [audit.RULE#2]", "/audit/2", Value::Null),
            ("remove: [audit.RULE..]", "/audit/1", Value::Null),
            ("remove: [steps.One..Two]", "/steps", json!(["Three"])),
            ("move: {steps: {item: Three, after: One}}", "/steps", json!(["One", "Three", "Two"])),
            ("like: refused", "/json/intent", json!("NONE")),
            ("{when: {json.intent: A}, set: {json.state: T}}", "/json/state", json!("T")),
        ] {
            let rule = if rule.starts_with('{') { format!("[{rule}]") } else { format!("[{{{rule}}}]") };
            let rewritten = rewrite(&rule, &[recorded()]);
            assert_eq!(rewritten.pointer(path).cloned().unwrap_or_default(), expected, "{rule}");
        }
        for condition in ["in: {s01: [1]}", "when: json.other", "unless: audit.RULE", "when: {json.intent: B}"] {
            let rules = one_ruling(&format!("[{{{condition}, set: {{json.intent: C}}}}]"));
            let (turns, _) = rules.expectations(&recording(&[recorded()])).expect("rules that fit");
            assert_eq!((turns[0].expect.as_ref(), turns[0].explained.len()), (Some(&recorded()), 0), "{condition}");
        }
    }

    #[test]
    fn values_refer_to_the_turns_before() {
        let turn = |reply: &str, rows: Value| {
            let conversation = json!({"conversation_id": "c", "intent_code": "A", "state_code": "S"});
            let answer = json!({"conversationId": "c", "payload": {"type": "TEXT", "value": reply}});
            json!({"json": answer, "conversation": conversation, "history": rows})
        };
        let row = |reply: &str| json!({"user_input": "hello", "assistant_output": json!({"value": reply}).to_string()});
        let turns = [turn("one", json!([row("one")])), turn("two", json!([row("one"), row("two")]))];
        let rules = r#"
    - {in: {s01: [0]}, set: {json.payload.value: uno, history: [{user_input: hello, assistant_output: '{"value":"uno"}'}]}}
    - {in: {s01: [1]}, set: {history: '${history}', json.last: '${before.json.payload.value} ${turns.0.json.payload.value} ${message}'}}
    - {set: {json.summary: '${summary}', json.length: '${summary.length}'}}"#;
        let rewritten = rewrite(rules, &turns);
        assert_eq!(rewritten["history"], json!([row("uno"), row("two")]));
        assert_eq!(rewritten["json"]["last"], "uno uno hello");
        let summary = "intent=A, state=S, user=hello, recentTurns=[{u=hello,a=uno}], response=two";
        assert_eq!((&rewritten["json"]["summary"], &rewritten["json"]["length"]), (&json!(summary), &json!(summary.len())));
    }

    #[test]
    fn an_answer_other_than_the_rewritten_one_fails() {
        let rules = "[{set: {json.intent: B}, remove: [json.state], insert: {audit.IN: [{NEXT: {id: 2}}]}}]";
        let expect = rewrite(rules, &[recorded()]);
        let audit = |rows: &[(&str, Value)]| rows.iter().map(|row| (row.0.to_owned(), row.1.clone())).collect();
        let step = |name: &str| ("STEP_ENTER", json!({"step": name}));
        let rows = [
            step("One"),
            step("Two"),
            step("Three"),
            ("IN", json!({"text": "known: {a=1}"})),
            ("NEXT", json!({"id": 2})),
            ("RULE", json!(3)),
        ];
        let mut played = PlayedTurn {
            status: 200,
            json: json!({"intent": "B", "context": {"mcp": {"lifecycle": {"status": "X"}}}}),
            audit: audit(&[&rows[..], &[("RULE", json!({"id": 1}))]].concat()),
            ..PlayedTurn::default()
        };
        let fields = |played: &PlayedTurn| differences(&expect, played).into_iter().map(|difference| difference.field).collect::<Vec<_>>();
        assert_eq!(fields(&played), [""; 0]);
        for (name, value) in [("intent", "A"), ("intent", "C"), ("state", "S"), ("state", "T")] {
            let mut other = played.clone();
            other.json[name] = json!(value);
            assert_eq!(fields(&other), [format!("json.{name}")]);
        }
        played.audit[4].1["id"] = json!(3);
        assert_eq!(fields(&played), ["audit.NEXT.id"]);
        played.audit.remove(4);
        assert_eq!(fields(&played), ["audit.NEXT"]);
    }

    #[test]
    fn a_rule_that_changes_nothing_is_reported() {
        let rules = one_ruling("[{in: {s01: [0]}, set: {json.intent: A}}, {set: {json.intent: B}, remove: [llm.last]}, {like: refused}]");
        let packs = [recording(&[recorded()])];
        let (_, idle) = rules.expectations(&packs[0]).expect("rules that fit");
        assert_eq!(idle, ["turn 0: a rule of 'why' changes nothing (set json.intent)"]);
        let unused = rules.unused(packs.iter()).expect("rules that fit");
        assert_eq!(unused, ["'why', rule 1: set json.intent", "'why', rule 2: remove llm.last"]);
        let other = Pack { name: "other".to_owned(), ..packs[0].clone() };
        let (turns, idle) = rules.expectations(&other).expect("no rules");
        assert_eq!((turns[0].expect.as_ref(), idle.len()), (Some(&recorded()), 0), "it is not a recording");
    }

    #[test]
    fn invalid_rules_are_refused() {
        for rules in [
            "- {ruling: '', rules: []}",
            "- {ruling: why, rules: [{in: {s02: [0]}}]}",
            "- {ruling: why, rules: [{like: other}]}",
            "- {ruling: why, rules: [{ignore: [json.intent]}]}",
        ] {
            assert!(parse(rules).is_err(), "{rules}");
        }
        let dangling = one_ruling("[{set: {json.intent: 'is ${json.other}'}}]").expectations(&recording(&[recorded()]));
        assert!(dangling.is_err_and(|error| format!("{error:#}").contains("json.other")));
    }
}
