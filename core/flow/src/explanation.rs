//! Explanations of what a flow decides, for observers (docs/spec/flows.md#15.7): edges, buttons, fallbacks, migrations, and
//! what the explanations of slots, intents and agents share.
//!
//! The deciding code records them. Nothing is built for a turn that nobody observes.

use std::borrow::Cow;

use convengine_config::flow::document::{EdgeDef, FallbackOn, FlowCondition, Node, NodeKind};
use convengine_text::json::into_members;
use convengine_text::names::NameResolver;
use convengine_turn::{Candidate, Explanation, Map, Verdict};
use serde_json::{Value, json};

use super::redaction::{Redactions, mask_trace};
use super::transition::Route;
use super::turn::Turn;

impl<'c> Turn<'c> {
    /// Sets the step of decisions that are made before the first node.
    pub(super) fn enter_phase(&self, phase: &'static str) {
        self.effects.enter_node(|| Cow::Borrowed(phase));
    }

    /// Explains by which edge a node is left.
    pub(super) fn explain_route(&self, node: &Node, route: &Route<'_, '_>) {
        let Some(explanation) = self.effects.begin_explanation("route") else { return };
        let (port, chosen) = (route.port, route.edge);
        let edges: Vec<(&str, &EdgeDef)> = self
            .graph()
            .into_iter()
            .flat_map(|graph| route.tried_ports().flat_map(move |port| graph.edges(&node.id, port).map(move |edge| (port, edge))))
            .collect();
        // An only way is no decision.
        if edges.len() < 2 && edges.iter().all(|(_, edge)| edge.condition.is_none() || edge.is_default()) && chosen.is_some() {
            return;
        }
        let mut is_decided = false;
        let mut rows = Vec::new();
        for (edge_port, edge) in &edges {
            let condition = edge.condition.as_ref().map(|it| &it.expr).filter(|_| !edge.is_default());
            let is_chosen = chosen.is_some_and(|it| std::ptr::eq(it, *edge));
            let name = condition.map_or(if edge.is_default() { "default" } else { edge_port }, |it| &it.source);
            let mut candidate = Candidate::for_choice("", name, Verdict::Won);
            candidate.facts.insert("target".to_owned(), json!(edge.target));
            candidate = match condition {
                _ if is_decided => Candidate { verdict: Verdict::NotReached, ..candidate },
                Some(condition) => self.with_condition(candidate, condition),
                None => candidate,
            };
            is_decided |= is_chosen;
            rows.push(candidate);
        }
        let about = json!({"node": self.state.node_key(&node.id), "port": port, "target": chosen.map(|it| &it.target)});
        let is_conditional = chosen.is_some_and(|edge| edge.condition.is_some() && !edge.is_default());
        let verdict = match chosen {
            Some(edge) if is_conditional => format!("the condition of the edge to '{}' is the first that is true", edge.target),
            Some(edge) => format!("no condition is true: the edge to '{}' is taken without one", edge.target),
            None if port == "error" => "no condition is true and one has no value, so the node has failed".to_owned(),
            None => format!("no condition is true, and no edge of the port '{port}' is without one"),
        };
        let explanation = Explanation { step: Cow::Owned(self.state.node_key(&node.id)), ..explanation };
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, verdict);
    }

    /// Explains which button of a message is chosen, as its id and the port that the node is left by.
    pub(super) fn explain_button(&self, node: &Node, options: &[Value], chosen: Option<(&str, &str)>) {
        let Some(explanation) = self.effects.begin_explanation("route").filter(|_| !options.is_empty()) else { return };
        let candidate = |option: &Value| {
            let text = |name: &str| option.get(name).and_then(Value::as_str).unwrap_or_default();
            let is_chosen = chosen.is_some_and(|(id, _)| id == text("id"));
            let mut candidate = Candidate::for_choice("", text("id"), if is_chosen { Verdict::Won } else { Verdict::NotMatched });
            candidate.facts.insert("label".to_owned(), json!(text("label")));
            candidate
        };
        let rows = options.iter().map(candidate).collect();
        let about = json!({"node": self.state.node_key(&node.id), "port": chosen.map(|it| it.1)});
        let verdict = if chosen.is_some() { "the answer chooses a button" } else { "the answer matches no button" };
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, verdict);
    }

    /// Adds to a candidate whether its condition is true, and the values that it reads.
    fn with_condition(&self, mut candidate: Candidate, condition: &FlowCondition) -> Candidate {
        let scope = self.scope();
        let (verdict, reason) = match &condition.compiled {
            Ok(expr) => {
                candidate.facts.extend(expr.paths().iter().map(|path| (path.to_string(), json!(scope.value(path)))));
                match expr.is_true(&scope) {
                    Ok(true) => (Verdict::Won, String::new()),
                    Ok(false) => (Verdict::NotMatched, "the condition is false".to_owned()),
                    Err(error) => (Verdict::Failed, error.0),
                }
            }
            Err(error) => (Verdict::Failed, error.message.clone()),
        };
        Candidate { verdict, ..candidate }.with_reason(reason)
    }

    /// Explains which fallback handles a message without an intent: `limit_graph`, `event_graph`, `intent` or `node`.
    pub(super) fn explain_fallback(&self, handler: &str) {
        let Some(explanation) = self.effects.begin_explanation("fallback") else { return };
        let (settings, event, count) = (self.settings(), &self.flow.document.events.fallback, self.state.counters.fallbacks);
        let disabled = Some("the fallback event is disabled").filter(|_| !event.enabled);
        let within_limit = || format!("fallback {count} is within the limit of {}", settings.fallback_limit);
        let limit = if settings.fallback_limit_graph.is_some() { within_limit() } else { "there is none".to_owned() };
        let mut intents = self.flow.document.intents.iter().filter(|it| it.is_fallback).peekable();
        let intent = if intents.peek().is_some() { "it is disabled" } else { "there is none" };
        let options = [
            ("limit_graph", limit),
            ("event_graph", disabled.unwrap_or("the fallback event has none").to_owned()),
            ("intent", intent.to_owned()),
            ("node", String::new()),
        ];
        let at = options.iter().position(|it| it.0 == handler).unwrap_or_default();
        let candidate = |(index, (name, reason)): (usize, (&str, String))| match index.cmp(&at) {
            std::cmp::Ordering::Less => Candidate::for_choice("", name, Verdict::NotMatched).with_reason(reason),
            std::cmp::Ordering::Equal => Candidate::for_choice("", name, Verdict::Won),
            std::cmp::Ordering::Greater => Candidate::for_choice("", name, Verdict::NotReached),
        };
        let rows = options.into_iter().enumerate().map(candidate).collect();
        let verdict = match handler {
            "limit_graph" => "more messages in a row have no intent than the limit allows: its graph takes over",
            "event_graph" => "the graph of the fallback event takes over",
            "intent" => "the fallback intent takes over",
            _ => "only a fallback node of the graph can take over",
        };
        let message = if event.message.is_none() { "none" } else { disabled.unwrap_or("sent") };
        let about = json!({"count": count, "limit": settings.fallback_limit, "message": if handler == "limit_graph" { "not sent" } else { message }});
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, verdict);
    }

    /// Explains which fallback node of the current graph handles a failure; `entered` is the one that was entered before.
    pub(super) fn explain_fallback_node(&self, on: &[FallbackOn], chosen: Option<&Node>, is_entered: bool) {
        let Some((explanation, graph)) = self.effects.begin_explanation("fallback").zip(self.graph()) else { return };
        let mut rows = Vec::new();
        for node in &graph.definition.nodes {
            let NodeKind::Fallback(data) = &node.kind else { continue };
            let (verdict, reason) = match chosen {
                _ if node.disabled => (Verdict::OutOfScope, "it is disabled"),
                Some(it) if it.id == node.id && is_entered => (Verdict::Failed, "it has been entered in this turn already"),
                Some(it) if it.id == node.id => (Verdict::Won, ""),
                _ if data.on == FallbackOn::Any || on.contains(&data.on) => (Verdict::Lost, "another fallback node takes precedence"),
                _ => (Verdict::NotMatched, "it is for another kind of failure"),
            };
            rows.push(Candidate::for_choice("", &node.id, verdict).with_reason(reason));
        }
        let verdict = match chosen {
            Some(node) if is_entered => format!("the fallback node '{}' has been entered in this turn already: the turn stops", node.id),
            Some(node) => format!("the fallback node '{}' takes over", node.id),
            None => format!("the graph '{}' has no fallback node for it", graph.definition.id),
        };
        let kinds: Vec<&str> = on.iter().map(|it| fallback_name(*it)).collect();
        let about = json!({"graph": graph.definition.id, "on": kinds.join(", "), "error": self.state.vars.get("_error").and_then(|it| it.get("code"))});
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, verdict);
    }

    /// Explains a migration by its report (docs/spec/flows.md#13).
    pub(super) fn explain_migration(&self, report: &Value) {
        let Some(explanation) = self.effects.begin_explanation("migration") else { return };
        let text = |key: &str| report.get(key).and_then(Value::as_str);
        let nodes = |key: &str| report.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let new_place = |node: &str| report.get("moved")?.get(node)?.as_str();
        let mapped = nodes("mapped").map(|node| match new_place(node) {
            Some(to) => Candidate::for_choice("", node, Verdict::Won).with_reason(format!("moved to {to}, as the document declares")),
            None => Candidate::for_choice("", node, Verdict::Won).with_reason("kept: the node is the same in both versions"),
        });
        let dropped = nodes("dropped")
            .enumerate()
            .map(|(at, node)| {
                (node, if at == 0 { "reset: the new version has no such node" } else { "reset: it runs within a node that is gone" })
            })
            .map(|(node, reason)| Candidate::for_choice("", node, Verdict::Failed).with_reason(reason));
        let rows = mapped.chain(dropped).collect();
        let verdict = match text("reset") {
            Some("entity") => "the awaited value has another type: the user is asked again",
            Some(_) => "a node is gone: the session is reset to a node that exists",
            None => "the session continues at the same nodes",
        };
        let about = json!({"from": report.get("from"), "to": report.get("to"), "node": self.state.current_node_key()});
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, verdict);
    }

    /// Adds a candidate to the explanation of the slot or agent step that runs.
    pub(super) fn note(&mut self, candidate: impl FnOnce() -> Candidate) {
        if let Some(explanation) = &mut self.open_explanation {
            explanation.rows.push(candidate());
        }
    }

    /// Adds a fact to the explanation of the slot or agent step that runs.
    pub(super) fn note_fact(&mut self, name: &str, value: impl FnOnce() -> Value) {
        if let Some(explanation) = &mut self.open_explanation {
            explanation.about.insert(name.to_owned(), value());
        }
    }

    /// Begins the explanation of a slot or an agent step.
    pub(super) fn open_explanation(&mut self, topic: &'static str, about: impl FnOnce(&Self) -> Value) {
        let explanation = self.effects.begin_explanation(topic);
        self.open_explanation = explanation.map(|explanation| Box::new(explanation.with_subject(about(self))));
    }

    /// Records the explanation of a slot or an agent step with its verdict, which may add facts.
    pub(super) fn close_explanation(&mut self, verdict: impl FnOnce(&mut Map) -> String) {
        let Some(mut explanation) = self.open_explanation.take() else { return };
        let verdict = verdict(&mut explanation.about);
        explanation.record(&self.effects, verdict);
    }

    /// Redacts the explanations of the turn as its traces and its history are: a value may turn out to be private only after a decision.
    pub(super) fn redact_explanations(&self) {
        self.effects.edit_explanations(|explanations| {
            let redactions = self.redactions();
            let history_text = self.state.history.iter().rev().find(|it| it.role == "user").map(|it| it.text.as_str());
            let hidden = history_text.filter(|text| !self.event.input_text().starts_with(text));
            for explanation in explanations {
                self.redact_explanation(explanation, &redactions, hidden);
            }
        });
    }

    fn redact_explanation(&self, explanation: &mut Explanation, redactions: &Redactions, hidden: Option<&str>) {
        let redact = |value: Value| {
            let value = redactions.redact_value(value);
            self.flow.document.agent.as_ref().map(|policy| mask_trace(policy, value.clone())).unwrap_or(value)
        };
        let redact_map = |map: &mut Map| *map = into_members(redact(Value::Object(std::mem::take(map))));
        let redact_text = |text: &mut String| {
            if let Value::String(redacted) = redact(Value::String(std::mem::take(text))) {
                *text = redacted;
            }
        };
        if let Some(hidden) = hidden
            && let Some(text) = explanation.about.get_mut("text")
        {
            *text = json!(hidden);
        }
        redact_map(&mut explanation.about);
        redact_text(&mut explanation.verdict);
        for row in &mut explanation.rows {
            if hidden.is_some() {
                // Terms are parts of the message.
                for fact in ["for", "against"] {
                    row.facts.shift_remove(fact);
                }
            }
            redact_map(&mut row.facts);
            redact_text(&mut row.reason);
        }
    }
}

/// The name of a case that a fallback node handles.
fn fallback_name(on: FallbackOn) -> &'static str {
    match on {
        FallbackOn::NoEdge => "no_edge",
        FallbackOn::Error => "error",
        FallbackOn::NoIntent => "no_intent",
        FallbackOn::Any => "any",
    }
}
