//! Checks the change of state that the turn's rules made. (`spec/pipeline.md` 2.23, `decisions.md` 3)
//! Reads: `ce_state_graph`, `allowed-transitions`, the state before the rules and now. Writes: `state_graph_*`, with
//! `revert-on-violation` the state. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::same_code;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    let settings = &t.config.settings.state_graph;
    let from = t.session.state_at_rules.clone().unwrap_or_default();
    let to = t.session.state.clone();
    if !settings.enabled || from.trim().is_empty() || to.trim().is_empty() || same_code(&from, &to) {
        return Flow::Continue;
    }
    let allowed = t.config.state_edges.allows(&t.session.intent, &from, &to);
    t.session.set_param("state_graph_valid", allowed);
    if let Some(why) = t.door.why("state_graph") {
        let intent = &t.session.intent;
        let about = json!({"intent": intent, "from": from, "to": to, "allowed": t.config.state_edges.after(intent, &from)});
        let verdict = match (allowed, settings.revert) {
            (true, _) => "the state may follow",
            (false, true) => "the state may not follow, and is taken back",
            (false, false) => "the state may not follow; it stays all the same",
        };
        why.about(about).decided(&t.door, verdict);
    }
    if allowed {
        t.audit(
            Stage::StateGraphValid,
            |session| json!({"fromState": from, "toState": to, "intent": session.intent, "validateOnly": true, "allowed": true}),
        );
    } else {
        violated(t, &from, &to);
    }
    Flow::Continue
}

fn violated(t: &mut Turning<'_>, from: &str, to: &str) {
    let settings = &t.config.settings.state_graph;
    let reason = format!("the state graph has no edge from {from} to {to} for the intent {}", t.session.intent);
    t.session.set_param("state_graph_reason", reason.clone());
    if settings.soft_block {
        t.session.set_param("state_graph_soft_block", true);
    }
    if settings.revert {
        from.clone_into(&mut t.session.state);
    }
    t.audit(Stage::StateGraphViolation, |session| {
        json!({
            "fromState": from, "toState": to, "intent": session.intent, "validateOnly": !settings.revert, "allowed": false,
            "softBlock": settings.soft_block, "reason": reason,
        })
    });
}
