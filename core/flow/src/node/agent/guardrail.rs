//! The guardrails and limits of AI agents (docs/spec/flows.md#10.6).

use convengine_config::flow::document::{
    AgentPolicy, CallLimit, CountedCalls, Escalation, FlowTool, GuardrailKind, HANDOFF_REASON, Refusal,
};
use convengine_config::flow::shape::Keyword;
use convengine_text::phrase::Phrase;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::super::super::turn::Turn;
use super::call::error_result;
use super::run::AgentRun;

/// Stop reason: the conversation has used all its model calls.
const MAX_LLM_STEPS: &str = "max_llm_steps";

/// Stop reason: the conversation has cost as much as it may.
const BUDGET: &str = "budget";

/// Why a guardrail refuses a call, with its id and its kind.
type GuardrailRefusal<'c> = (Refusal, &'c str, &'static str);

impl<'c> Turn<'c> {
    /// Decides whether the model may be called. Returns the stop reason if not.
    pub(super) fn refuse_step(&mut self, run: &mut AgentRun<'c>) -> Option<&'static str> {
        let policy = run.policy?;
        let (reason, refusal, guardrail, kind) = if policy.max_llm_steps.is_some_and(|it| run.memory.progress.steps >= it) {
            (MAX_LLM_STEPS, Refusal::Limit, "max_llm_steps_per_conv", "LIMIT")
        } else {
            let (refusal, guardrail, kind) = self.find_exhausted_budget(policy)?;
            (BUDGET, refusal, guardrail, kind)
        };
        run.refusals.push(refusal);
        self.trace("guardrail", json!({"node": run.node.id, "guardrail": guardrail, "kind": kind, "action": "stopped"}));
        Some(reason)
    }

    /// Decides whether a tool may be called. Returns the result for the model if not; `tool` is absent for a built-in tool.
    pub(super) fn refuse_call(&mut self, run: &mut AgentRun<'c>, name: &str, tool: Option<&FlowTool>) -> Option<Value> {
        let policy = run.policy?;
        let (refusal, guardrail, kind) = match tool.filter(|it| policy.is_protected(it)).and_then(|_| self.find_unmet_condition(policy)) {
            Some(found) => found,
            None => find_reached_limit(run, policy, name).or_else(|| self.find_exhausted_budget(policy))?,
        };
        run.refusals.push(refusal);
        let payload = json!({"node": run.node.id, "guardrail": guardrail, "kind": kind, "action": "refused", "tool": name});
        self.trace("guardrail", payload);
        let message = match refusal {
            Refusal::AuthRequired => "the user has to be verified first",
            Refusal::Limit => "the tool cannot be called so often",
            Refusal::Budget => "the budget of the conversation is used up",
        };
        Some(error_result(refusal.keyword(), message))
    }

    /// The guardrail whose condition is not true; without any, protected tools are refused.
    fn find_unmet_condition(&mut self, policy: &'c AgentPolicy) -> Option<GuardrailRefusal<'c>> {
        let mut is_verified = false;
        for guardrail in &policy.guardrails {
            let GuardrailKind::Auth(condition) = &guardrail.kind else { continue };
            if !self.is_condition_true(condition, Map::new()) {
                return Some((Refusal::AuthRequired, &guardrail.id, guardrail.kind_name()));
            }
            is_verified = true;
        }
        (!is_verified).then_some((Refusal::AuthRequired, "", "AUTH"))
    }

    fn find_exhausted_budget(&self, policy: &'c AgentPolicy) -> Option<GuardrailRefusal<'c>> {
        let cost = self.state.usage.cost_microcents;
        let is_exhausted = |kind: &GuardrailKind| matches!(kind, GuardrailKind::Budget(limit) if cost >= *limit);
        let found = policy.guardrails.iter().find(|it| is_exhausted(&it.kind))?;
        Some((Refusal::Budget, &found.id, found.kind_name()))
    }

    /// Masks what the guardrails mask in a reply.
    pub(super) fn mask_reply(&mut self, run: &mut AgentRun<'c>, text: String) -> String {
        let mut text = text;
        for guardrail in run.policy.iter().flat_map(|it| &it.guardrails) {
            let GuardrailKind::Redact(mask) = &guardrail.kind else { continue };
            let masked = mask.mask(&text);
            if masked != text {
                let payload = json!({"node": run.node.id, "guardrail": guardrail.id, "kind": guardrail.kind_name(), "action": "masked"});
                self.trace("guardrail", payload);
            }
            text = masked;
        }
        if run.policy.is_some() && !text.trim().is_empty() {
            run.texts.push(text.clone());
        }
        text
    }

    /// Decides whether the conversation is handed over after a reply.
    pub(super) fn check_escalation(&mut self, run: &AgentRun<'c>) -> bool {
        let texts: Vec<Phrase> = run.texts.iter().map(|it| Phrase::without_accents(it)).collect();
        for guardrail in run.policy.iter().flat_map(|it| &it.guardrails) {
            let GuardrailKind::Escalate(escalation) = &guardrail.kind else { continue };
            let Some(reason) = find_reason(escalation, &texts, &run.refusals) else { continue };
            let payload = json!({
                "node": run.node.id, "guardrail": guardrail.id, "kind": guardrail.kind_name(), "action": "escalated", "reason": reason,
            });
            self.trace("guardrail", payload);
            self.set_handoff_reason(&json!(reason));
            return true;
        }
        false
    }

    /// Keeps the reason of a handoff for the person.
    pub(super) fn set_handoff_reason(&mut self, reason: &Value) {
        self.state.vars.insert(HANDOFF_REASON.to_owned(), reason.clone());
    }
}

fn find_reached_limit<'c>(run: &AgentRun<'_>, policy: &'c AgentPolicy, name: &str) -> Option<GuardrailRefusal<'c>> {
    let progress = &run.memory.progress;
    if policy.max_tool_calls.is_some_and(|limit| progress.turn_calls.values().sum::<u32>() >= limit) {
        return Some((Refusal::Limit, "max_tool_calls_per_turn", "LIMIT"));
    }
    let is_counted = |limit: &CallLimit, tool: &str| limit.tools.is_empty() || limit.tools.iter().any(|it| it == tool);
    let is_reached = |kind: &GuardrailKind| {
        let GuardrailKind::Limit(limit) = kind else { return false };
        let counts = if limit.per == CountedCalls::Conversation { &progress.calls } else { &progress.turn_calls };
        let calls: u32 = counts.iter().filter(|it| is_counted(limit, it.0)).map(|it| it.1).sum();
        is_counted(limit, name) && calls >= limit.max_calls
    };
    let found = policy.guardrails.iter().find(|it| is_reached(&it.kind))?;
    Some((Refusal::Limit, &found.id, found.kind_name()))
}

/// Why a conversation is handed over: a keyword that was said, or a refusal.
fn find_reason(escalation: &Escalation, texts: &[Phrase], refusals: &[Refusal]) -> Option<String> {
    // All words of the keyword occur in a row.
    let occurs =
        |keyword: &Phrase| texts.iter().any(|text| text.match_phrase(keyword).is_some_and(|(length, _)| length == keyword.tokens().len()));
    let keyword = escalation.keywords.iter().find(|it| occurs(&it.1)).map(|it| it.0.clone());
    keyword.or_else(|| escalation.on.iter().find(|it| refusals.contains(it)).map(|refusal| refusal.keyword().to_owned()))
}
