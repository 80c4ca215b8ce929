//! Tracks which turn of a pack is being played, to use its own answers.

use std::collections::VecDeque;

use convengine_turn::{Millis, TurnInput};
use serde_json::Value;

use super::{PackAnswer, PackTurn, ScriptedCall, expand_repeats};

/// A turn of the script.
#[derive(Debug, Clone)]
struct ScriptTurn {
    conversation: Option<String>,
    text: Option<String>,
    /// The event of a flow session, in place of a text.
    event: Option<Value>,
    at: Option<Millis>,
    answers: VecDeque<PackAnswer>,
}

/// The turns of a script with their own answers or time.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptTurns {
    pending: VecDeque<ScriptTurn>,
    answers: VecDeque<PackAnswer>,
}

impl ScriptTurns {
    pub(super) fn new(turns: &[PackTurn]) -> ScriptTurns {
        // Without answers and times there is nothing to track.
        let used = turns.iter().any(|turn| turn.at.is_some() || !turn.answers.is_empty());
        let pending = turns.iter().filter(|_| used).filter_map(ScriptTurn::from_turn).collect();
        ScriptTurns { pending, answers: VecDeque::new() }
    }

    /// Advances to the next turn with this input and returns its time. Other inputs do not advance and get no answers.
    pub(super) fn begin_turn(&mut self, input: &TurnInput) -> Option<Millis> {
        self.answers.clear();
        let position = self.pending.iter().position(|it| it.matches(input))?;
        let turn = self.pending.drain(..=position).next_back()?;
        self.answers = turn.answers;
        turn.at
    }

    /// Whether the turn has an unused answer.
    pub(super) fn has_answer(&self, call: &ScriptedCall) -> bool {
        self.answers.iter().any(|it| it.call == *call)
    }

    /// Removes and returns the next matching answer of the turn.
    pub(super) fn take_answer(&mut self, call: &ScriptedCall) -> Option<PackAnswer> {
        let position = self.answers.iter().position(|it| it.call == *call)?;
        self.answers.remove(position)
    }
}

impl ScriptTurn {
    fn from_turn(turn: &PackTurn) -> Option<ScriptTurn> {
        let request = turn.request.as_ref()?;
        let body = expand_repeats(&request.body);
        let of_flow = super::flow_turn::parse_message(&request.path, &body, turn.conversation.as_deref(), 0, 0);
        if let Some(message) = of_flow {
            return Some(ScriptTurn {
                conversation: message.conversation_id,
                text: None,
                event: message.flow,
                at: turn.at,
                answers: turn.answers.iter().cloned().collect(),
            });
        }
        let member = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(ScriptTurn {
            conversation: member("conversationId").map(|it| it.to_lowercase()).filter(|it| !it.is_empty()),
            text: member("message"),
            event: None,
            at: turn.at,
            answers: turn.answers.iter().cloned().collect(),
        })
    }

    fn matches(&self, input: &TurnInput) -> bool {
        let is_same_event = match (&self.event, &input.event.flow) {
            (Some(expected), Some(event)) => expected.as_object().into_iter().flatten().all(|member| event.get(member.0) == Some(member.1)),
            (None, None) => self.text == input.event.text,
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same_event && self.conversation.as_ref().is_none_or(|it| *it == input.conversation)
    }
}

#[cfg(test)]
mod tests {
    use convengine_turn::ProgramRef;

    use super::super::{Conversations, Message, Pack};
    use super::*;

    const TALK: &str = "config c\n> yes\n< a\n> no\n  llm policy first\n< a\n> @b no\n  llm policy second\n  llm policy third\n< a\n";

    /// Returns the answers to two calls in a turn with this message.
    fn answers_of_turn(turns: &mut ScriptTurns, conversation: &Value, text: &str) -> Vec<Option<Value>> {
        let message = Message::from_body(&serde_json::json!({"conversationId": conversation, "message": text}), 0, 1).unwrap();
        turns.begin_turn(&message.into_input(&Conversations::default(), ProgramRef::PipelineV2));
        (0..2).map(|_| turns.take_answer(&ScriptedCall::Llm("policy".to_owned())).map(|answer| answer.reply)).collect()
    }

    #[test]
    fn answers_apply_only_to_their_own_turn() {
        let pack = Pack::parse_talk(TALK, |_| Ok(r#"{"name": "n"}"#.to_owned())).unwrap();
        let id = |turn: usize| pack.turns[turn].request.as_ref().unwrap().body["conversationId"].clone();
        let mut turns = ScriptTurns::new(&pack.turns);
        assert_eq!(answers_of_turn(&mut turns, &id(0), "yes"), [None, None]);
        assert_eq!(answers_of_turn(&mut turns, &id(0), "something else"), [None, None]);
        assert_eq!(answers_of_turn(&mut turns, &id(0), "no"), [Some("first".into()), None]);
        assert_eq!(answers_of_turn(&mut turns, &id(0), "no"), [None, None]);
        assert_eq!(answers_of_turn(&mut turns, &id(2), "no"), [Some("second".into()), Some("third".into())]);
    }
}
