//! The list of sabotages: one piece of the sources replaced, and the test that must fail then.

use super::proof::Proof;

/// One way to break the product.
pub struct Sabotage {
    /// What is broken.
    pub name: &'static str,
    /// The file it is broken in.
    pub file: &'static str,
    /// The piece of it that stands there once.
    pub find: &'static str,
    /// What stands there then.
    pub replace: &'static str,
    /// The test that must fail.
    pub noticed_by: Proof,
}

/// All of them, from the protocol of turns up to the steps, and then the server.
pub const SABOTAGES: [Sabotage; 30] = [
    Sabotage {
        name: "notice_dropped",
        file: "core/src/turn/door.rs",
        find: "port.notices.push(notice);",
        replace: "if port.next_seq % 7 != 0 { port.notices.push(notice); }",
        noticed_by: Proof::Suite("protocol::notices_are_numbered_without_gaps"),
    },
    Sabotage {
        name: "notices_exchanged",
        file: "core/src/turn/door.rs",
        find: "(std::mem::take(&mut port.effects), std::mem::take(&mut port.notices))",
        replace: "{ port.notices.reverse(); (std::mem::take(&mut port.effects), std::mem::take(&mut port.notices)) }",
        noticed_by: Proof::Pack("packs/pipeline/policy_types.json"),
    },
    Sabotage {
        name: "effect_key_off_by_one",
        file: "core/src/turn/door.rs",
        find: "format!(\"{}/{}\", self.turn, self.next_effect)",
        replace: "format!(\"{}/{}\", self.turn, self.next_effect + 1)",
        noticed_by: Proof::Suite("protocol::keys_name_turn_and_effect"),
    },
    Sabotage {
        name: "effects_exchanged",
        file: "core/src/pipeline/wrap.rs",
        find: "    extension::hook(t, name, HookMoment::Before).await;\n    let result = step.run(t).await;\n",
        replace: "    let result = step.run(t).await;\n    extension::hook(t, name, HookMoment::Before).await;\n",
        noticed_by: Proof::Pack("talks/hooks_and_transformers.talk"),
    },
    Sabotage {
        name: "completion_lost",
        file: "core/src/turn/door.rs",
        find: "Some(slot @ None) => *slot = Some(completion.outcome.clone().into()),",
        replace: "Some(None) => {}",
        noticed_by: Proof::Pack("packs/demo/model_acts.json"),
    },
    Sabotage {
        name: "answer_not_recorded",
        file: "core/src/turn/mod.rs",
        find: "self.journal.record(&completion, at);",
        replace: "if self.journal.entries.is_empty() { self.journal.record(&completion, at); }",
        noticed_by: Proof::Suite("protocol::a_journal_replays_to_the_same_end"),
    },
    Sabotage {
        name: "clock_goes_back",
        file: "core/src/turn/door.rs",
        find: "port.now = port.now.max(completion.at);",
        replace: "port.now = completion.at;",
        noticed_by: Proof::Suite("protocol::the_clock_never_goes_back"),
    },
    Sabotage {
        name: "clock_read_twice",
        file: "core/src/turn/door.rs",
        find: "    pub fn now(&self) -> Millis {\n        self.port().now\n",
        replace: "    pub fn now(&self) -> Millis {\n        let mut port = self.port();\n        port.now += 1;\n        port.now\n",
        noticed_by: Proof::Suite("protocol::the_clock_never_goes_back"),
    },
    Sabotage {
        name: "clock_of_the_machine",
        file: "core/src/turn/door.rs",
        find: "let notice = Notice { seq: port.next_seq, at: port.now, body };",
        replace: "let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |it| it.as_nanos() as Millis);\n        let notice = Notice { seq: port.next_seq, at: now, body };",
        noticed_by: Proof::Suite("core::a_turn_saved_after_every_completion_ends_the_same"),
    },
    Sabotage {
        name: "replay_takes_any_request",
        file: "core/src/turn/journal.rs",
        find: "if fingerprint(asked) == entry.fingerprint {",
        replace: "if index < usize::MAX {",
        noticed_by: Proof::Suite("protocol::another_prompt_is_named_with_both_texts"),
    },
    Sabotage {
        name: "state_hash_without_notices",
        file: "core/src/turn/outcome.rs",
        find: "for notice in notices {",
        replace: "for notice in notices.iter().take(0) {",
        noticed_by: Proof::Core("turn::outcome::tests::the_state_hash_notices_a_change_of_session_writes_and_notices"),
    },
    Sabotage {
        name: "write_doubled",
        file: "core/src/program.rs",
        find: "rows.pop().into_iter().chain(others).collect()",
        replace: "rows.pop().into_iter().chain(others.iter().cloned().chain(others.iter().cloned())).collect()",
        noticed_by: Proof::Pack("packs/pipeline/memory_takes_the_newest_turns.json"),
    },
    Sabotage {
        name: "history_not_written",
        file: "core/src/program.rs",
        find: "rows.pop().into_iter().chain(others).collect()",
        replace: "rows.pop().into_iter().chain(others.into_iter().filter(|it| !matches!(it, Write::History(_)))).collect()",
        noticed_by: Proof::Pack("packs/pipeline/memory_takes_the_newest_turns.json"),
    },
    Sabotage {
        name: "policy_after_the_model",
        file: "core/src/pipeline/profile.rs",
        find: "        Step::PolicyEnforcement,\n        Step::DialogueAct,\n",
        replace: "        Step::DialogueAct,\n        Step::PolicyEnforcement,\n",
        noticed_by: Proof::Pack("packs/pipeline/policy_before_model.json"),
    },
    Sabotage {
        name: "per_turn_key_kept",
        file: "core/src/session/params.rs",
        find: "if among(&key, &PER_TURN) && !lives {",
        replace: "if false && among(&key, &PER_TURN) && !lives {",
        noticed_by: Proof::Pack("packs/pipeline/params_persist_and_per_turn_keys_drop.json"),
    },
    Sabotage {
        name: "expired_action_runs",
        file: "core/src/action/lifecycle.rs",
        find: "let over = runtime.is_open() && runtime.is_over(turn, now);",
        replace: "let over = false;",
        noticed_by: Proof::Pack("talks/yes_comes_too_late.talk"),
    },
    Sabotage {
        name: "sensitive_text_let_through",
        file: "core/src/pipeline/step/guardrail.rs",
        find: "if required && !approval.granted {",
        replace: "if false && required && !approval.granted {",
        noticed_by: Proof::Pack("talks/approval_for_what_is_sensitive.talk"),
    },
    Sabotage {
        name: "complete_although_missing",
        file: "core/src/schema/facts.rs",
        find: "complete: missing.is_empty(),",
        replace: "complete: true,",
        noticed_by: Proof::Core("schema::facts::tests::complete_and_missing_never_disagree_and_what_is_missing_can_be_given"),
    },
    Sabotage {
        name: "broad_rows_before_narrow",
        file: "core/src/config/by_scope.rs",
        find: "[of_state(own), rows(own, ANY), of_state(any), rows(any, ANY)].into_iter()",
        replace: "[of_state(own), rows(own, ANY), of_state(any), rows(any, ANY)].into_iter().rev()",
        noticed_by: Proof::Core("config::by_scope::tests::the_narrower_scope_comes_first_and_no_row_twice"),
    },
    Sabotage {
        name: "values_not_escaped",
        file: "core/src/text/template/render.rs",
        find: "if escape { self.put(&escaped(&text)) }",
        replace: "if false && escape { self.put(&escaped(&text)) }",
        noticed_by: Proof::Pack("packs/pipeline/template_outputs.json"),
    },
    Sabotage {
        name: "stalled_turn_asks_a_model",
        file: "core/src/pipeline/step/memory.rs",
        find: "if passed <= config.settings.memory.recent_turns || t.session.stalled {",
        replace: "if passed <= config.settings.memory.recent_turns {",
        noticed_by: Proof::Pack("packs/pipeline/disambiguation_asks_no_model.json"),
    },
    Sabotage {
        name: "stalled_turn_runs_rules",
        file: "core/src/pipeline/step/rules.rs",
        find: "if !t.session.stalled {",
        replace: "if !t.session.stalled || true {",
        noticed_by: Proof::Pack("packs/pipeline/disambiguation_stalls_the_turn.json"),
    },
    Sabotage {
        name: "question_not_returned",
        file: "core/src/pipeline/step/response_resolution.rs",
        find: "if respond::question(t) {",
        replace: "if false && respond::question(t) {",
        noticed_by: Proof::Pack("talks/two_pending_actions.talk"),
    },
    Sabotage {
        name: "memory_survives_a_reset",
        file: "core/src/session/reset.rs",
        find: "        self.memory = None;\n",
        replace: "",
        noticed_by: Proof::Pack("packs/pipeline/memory_by_a_model_goes_with_a_reset.json"),
    },
    Sabotage {
        name: "tool_called_twice",
        file: "core/src/agent/run.rs",
        find: "if run.done.contains(&signature) {",
        replace: "if false && run.done.contains(&signature) {",
        noticed_by: Proof::Pack("packs/pipeline/planner_duplicate_call.json"),
    },
    Sabotage {
        name: "settings_row_loses",
        file: "core/src/config/settings/reader.rs",
        find: "            if parsed.is_some() {\n                return parsed;\n            }\n            self.bad(path,",
        replace: "            self.bad(path,",
        noticed_by: Proof::Pack("packs/pipeline/settings_row_wins.json"),
    },
    Sabotage {
        name: "broken_policy_lets_through",
        file: "core/src/pipeline/step/policy_enforcement.rs",
        find: "if t.config.policy_unavailable().is_some() {",
        replace: "if false && t.config.policy_unavailable().is_some() {",
        noticed_by: Proof::Pack("packs/pipeline/policy_bad_row_fails_closed.json"),
    },
    Sabotage {
        name: "half_answer_taken",
        file: "host-native/src/fulfil/llm/said.rs",
        find: "if !self.complete {",
        replace: "if false && !self.complete {",
        noticed_by: Proof::Server("fulfil::llm::tests::streams::half_an_answer_of_anthropic_is_none"),
    },
    Sabotage {
        name: "key_shown_in_pieces",
        file: "host-native/src/fulfil/llm/deltas.rs",
        find: "self.held.split_off(self.secrets.settled(&self.held))",
        replace: "self.held.split_off(self.held.len())",
        noticed_by: Proof::Server("fulfil::llm::tests::secrets::a_key_that_comes_in_two_pieces_is_struck_out"),
    },
    Sabotage {
        name: "wait_past_the_deadline",
        file: "host-native/src/fulfil/llm/patience.rs",
        find: "|| self.attempts == 0 || !in_time {",
        replace: "|| self.attempts == 0 {",
        noticed_by: Proof::Server("fulfil::llm::patience::tests::no_wait_begins_that_would_pass_the_deadline"),
    },
];
