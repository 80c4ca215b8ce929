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
pub const SABOTAGES: [Sabotage; 57] = [
    Sabotage {
        name: "notice_dropped",
        file: "core/src/turn/effect_context.rs",
        find: "inner.notices.push(notice);",
        replace: "if inner.next_seq % 7 != 0 { inner.notices.push(notice); }",
        noticed_by: Proof::Corpus("core", "protocol::notices_are_numbered_without_gaps"),
    },
    Sabotage {
        name: "notices_exchanged",
        file: "core/src/turn/effect_context.rs",
        find: "(std::mem::take(&mut inner.effects), std::mem::take(&mut inner.notices))",
        replace: "{ inner.notices.reverse(); (std::mem::take(&mut inner.effects), std::mem::take(&mut inner.notices)) }",
        noticed_by: Proof::Pack("packs/pipeline/policy_types.json"),
    },
    Sabotage {
        name: "effect_key_off_by_one",
        file: "core/src/turn/effect_context.rs",
        find: "format!(\"{}/{}\", self.turn, self.next_effect)",
        replace: "format!(\"{}/{}\", self.turn, self.next_effect + 1)",
        noticed_by: Proof::Corpus("core", "protocol::keys_name_turn_and_effect"),
    },
    Sabotage {
        name: "effects_exchanged",
        file: "core/src/pipeline/step_runner.rs",
        find: "    extension::run_hooks(cx, name, HookStage::Before).await;\n    let result = step.run(cx).await;\n",
        replace: "    let result = step.run(cx).await;\n    extension::run_hooks(cx, name, HookStage::Before).await;\n",
        noticed_by: Proof::Pack("talks/hooks_and_transformers.talk"),
    },
    Sabotage {
        name: "completion_lost",
        file: "core/src/turn/effect_context.rs",
        find: "Some(slot @ None) => *slot = Some(completion.outcome.clone().into()),",
        replace: "Some(None) => {}",
        noticed_by: Proof::Pack("packs/demo/model_acts.json"),
    },
    Sabotage {
        name: "answer_not_recorded",
        file: "core/src/turn/mod.rs",
        find: "self.journal.record_completion(&completion, at);",
        replace: "if self.journal.entries.is_empty() { self.journal.record_completion(&completion, at); }",
        noticed_by: Proof::Corpus("core", "protocol::a_journal_replays_to_the_same_end"),
    },
    Sabotage {
        name: "clock_goes_back",
        file: "core/src/turn/effect_context.rs",
        find: "inner.now = inner.now.max(completion.at);",
        replace: "inner.now = completion.at;",
        noticed_by: Proof::Corpus("core", "protocol::the_clock_never_goes_back"),
    },
    Sabotage {
        name: "clock_read_twice",
        file: "core/src/turn/effect_context.rs",
        find: "    pub fn now(&self) -> Millis {\n        self.lock().now\n",
        replace: "    pub fn now(&self) -> Millis {\n        let mut inner = self.lock();\n        inner.now += 1;\n        inner.now\n",
        noticed_by: Proof::Corpus("core", "protocol::the_clock_never_goes_back"),
    },
    Sabotage {
        name: "clock_of_the_machine",
        file: "core/src/turn/effect_context.rs",
        find: "let notice = Notice { seq: inner.next_seq, at: inner.now, body };",
        replace: "let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |it| it.as_nanos() as Millis);\n        let notice = Notice { seq: inner.next_seq, at: now, body };",
        noticed_by: Proof::Corpus("packs", "demo::loan::saved_after_every_completion_ends_the_same"),
    },
    Sabotage {
        name: "replay_takes_any_request",
        file: "core/src/turn/journal.rs",
        find: "if fingerprint(replayed) == entry.fingerprint || hash(replayed) == entry.fingerprint {",
        replace: "if index < usize::MAX {",
        noticed_by: Proof::Corpus("core", "protocol::a_changed_prompt_is_reported_with_both_texts"),
    },
    Sabotage {
        name: "state_hash_without_notices",
        file: "core/src/turn/outcome.rs",
        find: "for notice in notices {",
        replace: "for notice in notices.iter().take(0) {",
        noticed_by: Proof::Core("turn::outcome::tests::the_state_hash_covers_session_writes_and_notices"),
    },
    Sabotage {
        name: "write_doubled",
        file: "core/src/program/tables.rs",
        find: "rows.pop().into_iter().chain(others).collect()",
        replace: "rows.pop().into_iter().chain(others.iter().cloned().chain(others.iter().cloned())).collect()",
        noticed_by: Proof::Pack("packs/pipeline/memory_takes_the_newest_turns.json"),
    },
    Sabotage {
        name: "history_not_written",
        file: "core/src/program/tables.rs",
        find: "rows.pop().into_iter().chain(others).collect()",
        replace: "rows.pop().into_iter().chain(others.into_iter().filter(|it| !matches!(it, Write::History(_)))).collect()",
        noticed_by: Proof::Pack("packs/pipeline/memory_takes_the_newest_turns.json"),
    },
    Sabotage {
        name: "policy_after_the_model",
        file: "core/src/config/profile.rs",
        find: "        Step::PolicyEnforcement,\n        Step::DialogueAct,\n",
        replace: "        Step::DialogueAct,\n        Step::PolicyEnforcement,\n",
        noticed_by: Proof::Pack("packs/pipeline/policy_before_model.json"),
    },
    Sabotage {
        name: "per_turn_key_kept",
        file: "core/src/session/params.rs",
        find: "if matches_any(key, &PER_TURN_KEYS) && !persists {",
        replace: "if false && matches_any(key, &PER_TURN_KEYS) && !persists {",
        noticed_by: Proof::Pack("packs/pipeline/params_persist_and_per_turn_keys_drop.json"),
    },
    Sabotage {
        name: "expired_action_runs",
        file: "core/src/pending_action/lifecycle.rs",
        find: "let expired = runtime.is_open() && runtime.is_expired(turn, now);",
        replace: "let expired = false;",
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
        file: "core/src/config/scope_index.rs",
        find: "[of_state(own), rows_of(own, ANY), of_state(any), rows_of(any, ANY)]",
        replace: "[rows_of(any, ANY), of_state(any), rows_of(own, ANY), of_state(own)]",
        noticed_by: Proof::Core("config::scope_index::tests::the_narrower_scope_comes_first_and_no_row_twice"),
    },
    Sabotage {
        name: "values_not_escaped",
        file: "core/src/text/template/render.rs",
        find: "if escape { self.append(&escape_html(&text)) }",
        replace: "if false && escape { self.append(&escape_html(&text)) }",
        noticed_by: Proof::Pack("packs/pipeline/template_outputs.json"),
    },
    Sabotage {
        name: "stalled_turn_asks_a_model",
        file: "core/src/pipeline/step/memory.rs",
        find: "if passed <= config.settings.memory.recent_turns || cx.session.is_question_turn {",
        replace: "if passed <= config.settings.memory.recent_turns {",
        noticed_by: Proof::Pack("packs/pipeline/disambiguation_asks_no_model.json"),
    },
    Sabotage {
        name: "stalled_turn_runs_rules",
        file: "core/src/pipeline/step/rules.rs",
        find: "if !cx.session.is_question_turn {",
        replace: "if !cx.session.is_question_turn || true {",
        noticed_by: Proof::Pack("packs/pipeline/disambiguation_stalls_the_turn.json"),
    },
    Sabotage {
        name: "question_not_returned",
        file: "core/src/pipeline/step/response_resolution.rs",
        find: "if respond::answer_open_question(cx) {",
        replace: "if false && respond::answer_open_question(cx) {",
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
        file: "core/src/planner_loop/run.rs",
        find: "if run.succeeded_calls.contains(&signature) {",
        replace: "if false && run.succeeded_calls.contains(&signature) {",
        noticed_by: Proof::Pack("packs/pipeline/planner_duplicate_call.json"),
    },
    Sabotage {
        name: "settings_row_loses",
        file: "core/src/config/settings/reader.rs",
        find: "            if parsed.is_some() {\n                return parsed;\n            }\n            self.report_invalid(path,",
        replace: "            self.report_invalid(path,",
        noticed_by: Proof::Pack("packs/pipeline/settings_row_wins.json"),
    },
    Sabotage {
        name: "broken_policy_lets_through",
        file: "core/src/pipeline/step/policy_enforcement.rs",
        find: "if cx.config.policy_unavailable().is_some() {",
        replace: "if false && cx.config.policy_unavailable().is_some() {",
        noticed_by: Proof::Pack("packs/pipeline/policy_bad_row_fails_closed.json"),
    },
    Sabotage {
        name: "half_answer_taken",
        file: "host-native/src/effects/llm/response.rs",
        find: "if !self.complete {",
        replace: "if false && !self.complete {",
        noticed_by: Proof::Server("effects::llm::tests::streams::a_truncated_anthropic_stream_is_a_failure"),
    },
    Sabotage {
        name: "key_shown_in_pieces",
        file: "host-native/src/effects/llm/deltas.rs",
        find: "self.pending.split_off(self.secrets.settled_len(&self.pending))",
        replace: "self.pending.split_off(self.pending.len())",
        noticed_by: Proof::Server("effects::llm::tests::secrets::a_key_split_across_deltas_is_scrubbed"),
    },
    Sabotage {
        name: "wait_past_the_deadline",
        file: "host-native/src/effects/llm/retry_policy.rs",
        find: "|| self.attempts == 0 || !in_time {",
        replace: "|| self.attempts == 0 {",
        noticed_by: Proof::Server("effects::llm::retry_policy::tests::no_wait_begins_that_would_pass_the_deadline"),
    },
    Sabotage {
        name: "arguments_unchecked",
        file: "core/src/tool/mod.rs",
        find: "schema.find_violation(&Value::Object(args.clone()))",
        replace: "schema.find_violation(&Value::Object(args.clone())).filter(|_| false)",
        noticed_by: Proof::Pack("packs/tools/calculator.json"),
    },
    Sabotage {
        name: "writes_repeated",
        file: "core/src/service/mod.rs",
        find: "Some(status) => call.idempotent && policy",
        replace: "Some(status) => policy",
        noticed_by: Proof::Pack("packs/tools/http_calls.json"),
    },
    Sabotage {
        name: "extension_without_rights",
        file: "core/src/config/extension.rs",
        find: "it.eq_ignore_ascii_case(host) || it.eq_ignore_ascii_case(name)",
        replace: "!it.is_empty() || it.eq_ignore_ascii_case(name)",
        noticed_by: Proof::Core("config::extension::tests::an_extension_has_its_permissions_and_limits"),
    },
    Sabotage {
        name: "private_names_called",
        file: "host-native/src/effects/http/target.rs",
        find: "if found.iter().all(|it| is_allowed",
        replace: "if true || found.iter().all(|it| is_allowed",
        noticed_by: Proof::Server("effects::http::tests::targets::dns_rebinding_never_reaches_a_private_address"),
    },
    Sabotage {
        name: "secret_comes_back",
        file: "host-native/src/effects/http/mod.rs",
        find: "http.secrets.scrub(&reply.body).into_owned()",
        replace: "reply.body.clone()",
        noticed_by: Proof::Suite("tools::a_secret_echoed_by_a_service_is_in_no_byte"),
    },
    Sabotage {
        name: "sql_as_it_was_written",
        file: "host-native/src/effects/sql/guard.rs",
        find: "let sql = render::to_sql(&statement);",
        replace: "let sql = sql.to_owned();",
        noticed_by: Proof::Server("effects::sql::guard::tests::the_rendered_query_is_the_checked_one"),
    },
    Sabotage {
        name: "row_asks_again_for_a_tool_in_doubt",
        file: "core/src/pipeline/step/tool_orchestration.rs",
        find: "matches!(outcome, ToolOutcome::Success(_) | ToolOutcome::Unapproved) || cx.session.unconfirmed_at.is_some()",
        replace: "matches!(outcome, ToolOutcome::Success(_) | ToolOutcome::Unapproved)",
        noticed_by: Proof::Pack("talks/row_asks_for_a_tool_in_doubt.talk"),
    },
    Sabotage {
        name: "write_in_doubt_sent_again",
        file: "host-native/src/runtime/recovery.rs",
        find: "filter(|it| !it.repeatable && in_doubt.contains(&it.id.0))",
        replace: "filter(|it| it.repeatable && in_doubt.contains(&it.id.0))",
        noticed_by: Proof::Suite("crash::turns_of_a_killed_server_are_finished_once"),
    },
    Sabotage {
        name: "stored_answers_forgotten",
        file: "host-native/src/runtime/recovery.rs",
        find: "journal.entries.extend(effects.iter().filter_map(|it| it.entry.clone()));",
        replace: "journal.entries.truncate(0);",
        noticed_by: Proof::Suite("crash::turns_of_a_killed_server_are_finished_once"),
    },
    Sabotage {
        name: "message_key_not_stored",
        file: "host-native/src/runtime/rows.rs",
        find: "message_key: about.idempotency_key,",
        replace: "message_key: None,",
        noticed_by: Proof::Suite("recovery::a_message_sent_twice_is_one_turn_with_one_reply"),
    },
    Sabotage {
        name: "key_answers_any_message",
        file: "host-native/src/runtime/idempotency.rs",
        find: "        None => check_same_message(message, &stored)?,\n",
        replace: "        None => drop(check_same_message(message, &stored)),\n",
        noticed_by: Proof::Suite("recovery::a_key_is_for_one_message"),
    },
    Sabotage {
        name: "turn_never_times_out",
        file: "host-native/src/runtime/turn_runner/database.rs",
        find: "Instant::now() + host.turn_settings.max_duration;",
        replace: "Instant::now() + host.turn_settings.max_duration * 10_000;",
        noticed_by: Proof::Suite("recovery::a_turn_that_takes_too_long_fails_and_replays"),
    },
    Sabotage {
        name: "stranger_ends_a_turn",
        file: "host-native/src/storage/commit.rs",
        find: "step.must_write_all && written != u64",
        replace: "step.must_write_all && written > u64",
        noticed_by: Proof::Server("storage::tests::an_open_turn_belongs_to_one_owner"),
    },
    Sabotage {
        name: "calls_not_derived",
        file: "host-native/src/ops/audit/derive.rs",
        find: "if let Write::LlmCall(call) = it { Some(call) } else { None }",
        replace: "if let Write::LlmCall(call) = it { Some(call).filter(|_| false) } else { None }",
        noticed_by: Proof::Suite("derived_audit::demo::model_acts"),
    },
    Sabotage {
        name: "explanations_not_redacted",
        file: "core/src/flow/outcome.rs",
        find: "    walker.redact_explanations();\n",
        replace: "",
        noticed_by: Proof::Core("flow::explanation_tests::a_redacted_value_is_in_no_explanation"),
    },
    Sabotage {
        name: "a_disabled_fallback_hides_others",
        file: "core/src/flow/failure.rs",
        find: "let enabled = || graph.definition.nodes.iter().filter(|it| !it.disabled);",
        replace: "let enabled = || graph.definition.nodes.iter().filter(|_| true);",
        noticed_by: Proof::Pack("packs/flow/fallback_disabled.talk"),
    },
    Sabotage {
        name: "agents_of_one_id_share_a_memory",
        file: "core/src/config/flow/compiled.rs",
        find: "if is_unique { agent_memory_variable_of(node) }",
        replace: "if is_unique || true { agent_memory_variable_of(node) }",
        noticed_by: Proof::Pack("packs/flow/agent_same_id.talk"),
    },
    Sabotage {
        name: "refusals_open_the_circuit",
        file: "core/src/flow/node/http_request.rs",
        find: "only_outages: true,",
        replace: "only_outages: false,",
        noticed_by: Proof::Pack("packs/flow/circuit_breaker.talk"),
    },
    Sabotage {
        name: "patterns_always_respect_case",
        file: "core/src/entity/pattern.rs",
        find: "case_insensitive(ignores_case)",
        replace: "case_insensitive(ignores_case && false)",
        noticed_by: Proof::Core("entity::pattern::tests::case_may_be_ignored"),
    },
    Sabotage {
        name: "numbers_are_compared_as_doubles",
        file: "core/src/value/order.rs",
        find: "(Some(left), Some(right)) => Some(left.cmp(&right)),",
        replace: "(Some(left), Some(right)) => (left as f64).partial_cmp(&(right as f64)),",
        noticed_by: Proof::Core("value::tests::dialects_differ_in_equality_only_where_the_table_says"),
    },
    Sabotage {
        name: "chained_renames_lose_counters",
        file: "core/src/flow/migrate.rs",
        find: "counts.extend(moved);",
        replace: "counts.extend(moved.into_iter().take(1));",
        noticed_by: Proof::Core("flow::migrate::tests::declared_migrations_take_precedence"),
    },
    Sabotage {
        name: "second_binding_counts",
        file: "core/src/config/binding.rs",
        find: "            Entry::Occupied(entry) => {\n",
        replace: "            Entry::Occupied(mut entry) => {\n                entry.insert(binding);\n",
        noticed_by: Proof::Pack("packs/tools/task_bound_twice.json"),
    },
    Sabotage {
        name: "question_of_a_failed_template",
        file: "core/src/pipeline/step/disambiguation.rs",
        find: "if text.is_empty() || rendered.error.is_some() {",
        replace: "if text.is_empty() {",
        noticed_by: Proof::Pack("packs/pipeline/disambiguation_template_fails.json"),
    },
    Sabotage {
        name: "audited_query_has_all_rows",
        file: "core/src/tool/sql.rs",
        find: "rows.iter().take(AUDITED_ROWS)",
        replace: "rows.iter().take(AUDITED_ROWS * 2)",
        noticed_by: Proof::Pack("talks/queries.talk"),
    },
    Sabotage {
        name: "approval_of_calls_is_skipped",
        file: "core/src/tool/approval.rs",
        find: "    if turn + 1 != u64::from(session.turn_number) || !is_affirmed(cx) {",
        replace: "    if turn + 1 != u64::from(session.turn_number) {",
        noticed_by: Proof::Suite("mcp_injections::a_model_that_obeys_an_injection_needs_the_approval_of_the_user"),
    },
    Sabotage {
        name: "turn_without_its_build",
        file: "host-native/src/runtime/rows.rs",
        find: "engine: &source.header.engine,",
        replace: "engine: \"\",",
        noticed_by: Proof::Suite("replay::each_turn_names_the_build_that_wrote_it"),
    },
    Sabotage {
        name: "queued_time_is_dropped",
        file: "host-native/src/runtime/chain/schedule.rs",
        find: "Overlap::Queue if open > 0 || is_full => return Ok(status::release(&host.readers, &due.slug).await?),",
        replace: "Overlap::Queue if open > 0 || is_full => {}",
        noticed_by: Proof::Suite("chain_waits::a_time_that_passes_during_a_run_waits_for_its_end_only_if_it_is_queued"),
    },
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A piece that was rewritten proves nothing until `teeth` runs, which is once a night.
    #[test]
    fn each_piece_stands_once_in_its_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for sabotage in &SABOTAGES {
            let text = fs::read_to_string(root.join(sabotage.file)).unwrap_or_else(|it| panic!("{}: {it}", sabotage.file));
            assert_eq!(text.matches(sabotage.find).count(), 1, "{}: the piece in {}", sabotage.name, sabotage.file);
        }
    }
}
