//! Checks the state transition made by the turn's rules. (docs/spec/pipeline.md#2.23, docs/decisions/0007-state-graph.md)
//! Reads: `ce_state_graph`, `allowed-transitions`, the state before and after the rules. Writes: `state_graph_*`, the state with
//! `revert-on-violation`. Waits for: nothing.

use convengine_config::is_same_code;
use convengine_turn::payload;
use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let settings = &cx.config.settings.state_graph;
    let from = cx.session.state_at_rules.clone().unwrap_or_default();
    let to = cx.session.state.clone();
    if !settings.enabled || from.trim().is_empty() || to.trim().is_empty() || is_same_code(&from, &to) {
        return StepOutcome::Continue;
    }
    let allowed = cx.config.state_edges.is_allowed(&cx.session.intent, &from, &to);
    cx.session.set_param("state_graph_valid", allowed);
    if let Some(explanation) = cx.effects.begin_explanation("state_graph") {
        let intent = &cx.session.intent;
        let about = json!({"intent": intent, "from": from, "to": to, "allowed": cx.config.state_edges.successors(intent, &from)});
        let verdict = match (allowed, settings.revert) {
            (true, _) => "the state may follow",
            (false, true) => "the state must not follow and is reverted",
            (false, false) => "the state must not follow, but is kept",
        };
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
    if allowed {
        cx.audit(
            Stage::StateGraphValid,
            |session| payload!({"fromState": from, "toState": to, "intent": session.intent, "validateOnly": true, "allowed": true}),
        );
    } else {
        record_violation(cx, &from, &to);
    }
    StepOutcome::Continue
}

fn record_violation(cx: &mut StepContext<'_>, from: &str, to: &str) {
    let settings = &cx.config.settings.state_graph;
    let reason = format!("the state graph has no edge from {from} to {to} for the intent {}", cx.session.intent);
    cx.session.set_param("state_graph_reason", reason.clone());
    if settings.soft_block {
        cx.session.set_param("state_graph_soft_block", true);
    }
    if settings.revert {
        from.clone_into(&mut cx.session.state);
    }
    cx.audit(Stage::StateGraphViolation, |session| {
        payload!({
            "fromState": from, "toState": to, "intent": session.intent, "validateOnly": !settings.revert, "allowed": false,
            "softBlock": settings.soft_block, "reason": reason,
        })
    });
}
