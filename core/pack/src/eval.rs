//! The evals of an AI agent as turns that a host can play. (docs/spec/flows.md#10.6)

use serde_json::{Value, json};

use super::{PackRequest, PackTurn};

/// A question to an AI agent with what its answer must contain. Each eval is a conversation of its own.
#[derive(Debug, Clone)]
pub struct AgentEval {
    /// Its name.
    pub name: String,
    /// The text that a reply has to contain.
    pub expected: String,
    /// The turn that asks.
    pub turn: PackTurn,
}

impl AgentEval {
    /// Returns whether a reply contains the expected text, ignoring case and the width of white space.
    pub fn is_met(&self, replies: &[&str]) -> bool {
        let normalize = |text: &str| convengine_text::collapse_whitespace(text).to_lowercase();
        let expected = normalize(&self.expected);
        replies.iter().any(|reply| normalize(reply).contains(&expected))
    }
}

/// Returns the evals of an AI agent, in its order; none for a document without `evals`.
///
/// ```
/// use convengine_pack::agent_evals;
/// use serde_json::json;
///
/// let eval = json!({"name": "hours", "prompt": "When are you open?", "expected": "6 to 14"});
/// let evals = agent_evals(&json!({"doc": "ai_agent", "id": "shop", "evals": [eval]}));
/// assert_eq!(evals[0].turn.conversation.as_deref(), Some("eval-1"));
/// assert!(evals[0].is_met(&["We are open from 6  TO 14."]));
/// ```
pub fn agent_evals(document: &Value) -> Vec<AgentEval> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let path = format!("/v1/runtime/ai-agents/{}/turn", text(document, "id"));
    let eval = |(number, eval): (usize, &Value)| {
        let body = json!({"text": text(eval, "prompt")});
        let request = PackRequest { method: "POST".to_owned(), path: path.clone(), body, content_type: None };
        let turn = PackTurn { conversation: Some(format!("eval-{number}")), request: Some(request), ..PackTurn::default() };
        AgentEval { name: text(eval, "name"), expected: text(eval, "expected"), turn }
    };
    let evals = document.get("evals").and_then(Value::as_array);
    (1..).zip(evals.into_iter().flatten()).map(eval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eval_is_a_conversation_with_an_expected_text() {
        let document = json!({"id": "shop", "evals": [
            {"name": "status", "prompt": "Where is my order?", "expected": "Order  number"},
            {"name": "terms", "prompt": "Returns?", "expected": "thirty days"},
        ]});
        let evals = agent_evals(&document);
        let labels: Vec<_> = evals.iter().map(|eval| (eval.name.as_str(), eval.turn.conversation.as_deref())).collect();
        assert_eq!(labels, [("status", Some("eval-1")), ("terms", Some("eval-2"))]);
        let request = evals[0].turn.request.as_ref().unwrap();
        assert_eq!((request.path.as_str(), &request.body), ("/v1/runtime/ai-agents/shop/turn", &json!({"text": "Where is my order?"})));
        assert!(evals[0].is_met(&["One moment.", "What is the ORDER number?"]));
        assert!(!evals[0].is_met(&["What is the order?", "Its number?"]) && !evals[0].is_met(&[]));
        assert!(agent_evals(&json!({"id": "a"})).is_empty());
    }
}
