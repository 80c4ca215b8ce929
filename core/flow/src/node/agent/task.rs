//! The tasks of AI agents: which one a message is about, and the tools that are offered for it (docs/spec/flows.md#10.6).

use convengine_config::flow::Flow;
use convengine_config::flow::document::{AgentPolicy, AgentTask, AgentTool, FlowTool, TaskFlag};
use convengine_text::phrase::Phrase;
use serde_json::json;

use super::super::super::turn::Turn;
use super::run::AgentRun;

/// Minimum similarity of a message and an example that does not occur in it.
const MIN_SIMILARITY: f64 = 0.6;

impl<'c> Turn<'c> {
    /// Begins a turn of an AI agent: finds the task of the message, and counts calls anew.
    pub(super) fn begin_agent_turn(&mut self, run: &mut AgentRun<'c>, text: &str) {
        let Some(policy) = run.policy else { return };
        run.texts.push(text.to_owned());
        run.memory.progress.turn_calls.clear();
        run.memory.progress.task = find_task(policy, text).map(|it| it.id.clone());
        self.trace("user", json!({"node": run.node.id, "text": text, "task": run.memory.progress.task}));
    }
}

impl<'c> AgentRun<'c> {
    /// The task of the turn.
    pub(super) fn task(&self) -> Option<&'c AgentTask> {
        self.policy?.task(self.memory.progress.task.as_deref()?)
    }

    /// Whether the model may call a tool now: one of the task, and, if it needs a verified user, only where a guardrail verifies.
    pub(super) fn is_offered(&self, tool: &FlowTool) -> bool {
        let Some(policy) = self.policy else { return true };
        let is_of_task = self.task().is_none_or(|it| it.tool_names.contains(&tool.id));
        is_of_task && (policy.verifies_user() || !policy.is_protected(tool))
    }

    /// The tool that a call names, if the model may call it now.
    pub(super) fn find_offered(&self, flow: &'c Flow, name: &str) -> Option<(&'c AgentTool, &'c FlowTool)> {
        let mut tools = self
            .data
            .tools
            .iter()
            .filter_map(|agent_tool| Some((agent_tool, flow.tool(&agent_tool.tool)?)))
            .filter(|it| self.is_offered(it.1));
        tools.find(|(_, tool)| tool.name_for_models() == name || tool.id == name)
    }
}

/// Finds the task with the example that fits a message best, else the task for all other messages.
fn find_task<'p>(policy: &'p AgentPolicy, text: &str) -> Option<&'p AgentTask> {
    let utterance = Phrase::without_accents(text);
    let mut best: Option<(&AgentTask, (usize, f64))> = None;
    for task in policy.tasks.iter().filter(|it| it.flag != TaskFlag::Fallback) {
        for score in task.examples.iter().filter_map(|it| match_example(&utterance, it)) {
            if best.is_none_or(|it| score > it.1) {
                best = Some((task, score));
            }
        }
    }
    best.map(|it| it.0).or_else(|| policy.tasks.iter().find(|it| it.flag == TaskFlag::Fallback))
}

/// How well an example fits: by the number of words that occur in a row, then by similarity.
fn match_example(utterance: &Phrase, example: &Phrase) -> Option<(usize, f64)> {
    let similarity = || Some(utterance.similarity(example)).filter(|it| *it >= MIN_SIMILARITY).map(|it| (0, it));
    utterance.match_phrase(example).or_else(similarity)
}

#[cfg(test)]
mod tests {
    use convengine_config::flow::document::Document;
    use serde_json::Value;

    use super::*;

    fn task_of(tasks: &Value, text: &str) -> Option<String> {
        let document = Document::read_agent(&json!({"id": "a", "name": "A", "mission": "Help.", "tasks": tasks}));
        find_task(document.agent.as_deref().unwrap(), text).map(|it| it.id.clone())
    }

    #[test]
    fn the_best_example_decides() {
        let mut tasks = json!([
            {"id": "status", "examples": ["where is my order", "track"]},
            {"id": "refund", "examples": ["refund", "refund my order"]},
            {"id": "talk", "examples": ["refund"]},
        ]);
        for (text, expected) in [
            ("Where is my order?", Some("status")),
            ("Hello, where is my order 4711?", Some("status")),
            ("where's my order", Some("status")),
            ("please refund my order", Some("refund")),
            ("I'd like a REFUND", Some("refund")),
            ("untracked", None),
            ("what is the weather", None),
            ("", None),
        ] {
            assert_eq!(task_of(&tasks, text).as_deref(), expected, "{text}");
        }
        tasks[2]["flag"] = json!("FALLBACK");
        assert_eq!(task_of(&tasks, "what is the weather").as_deref(), Some("talk"));
        assert_eq!(task_of(&tasks, "refund").as_deref(), Some("refund"));
    }
}
