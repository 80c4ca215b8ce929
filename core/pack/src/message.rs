//! A user message with everything that its turn needs to be reproducible.

use convengine_turn::{Map, Millis, ProgramRef, TurnInput, UserEvent, uuid_from_seed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Conversations;

/// A message that a runner or the page sends. The default has no text, no conversation, the time 0 and the seed 0.
///
/// ```
/// use convengine_pack::{Conversations, Message};
/// use convengine_turn::ProgramRef;
///
/// let message = Message { message: Some("hello".to_owned()), at: 1_767_258_000_000, seed: 7, ..Message::default() };
/// let conversation = message.conversation();
/// let input = message.into_input(&Conversations::default(), ProgramRef::PipelineV2);
/// assert_eq!(input.conversation, conversation, "a new conversation has the id that follows from the seed");
/// assert_ne!(input.turn, conversation);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The conversation id; `None` for a new conversation.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// The text.
    #[serde(default)]
    pub message: Option<String>,
    /// Whether to reset the session before the turn.
    #[serde(default)]
    pub reset: bool,
    /// The client's parameters.
    #[serde(default)]
    pub input_params: Map,
    /// When it arrived.
    pub at: Millis,
    /// The seed of generated ids.
    pub seed: u64,
    /// The event of a flow session, in place of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Value>,
}

impl Message {
    /// Parses the body of `POST /message`; `None` if a member has a wrong type.
    pub(super) fn from_body(body: &Value, at: Millis, seed: u64) -> Option<Message> {
        let body = body.as_object()?;
        let member = |key: &str| body.get(key).filter(|value| !value.is_null());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let optional = |key: &str| member(key).map_or(Some(None), |value| text(value).map(Some));
        Some(Message {
            conversation_id: optional("conversationId")?.filter(|it| !it.is_empty()),
            message: optional("message")?,
            reset: member("reset").map_or(Some(false), Value::as_bool)?,
            input_params: member("inputParams").map_or(Some(Map::new()), |params| params.as_object().cloned())?,
            at,
            seed,
            flow: None,
        })
    }

    /// Returns the conversation id, derived from the seed for a new conversation.
    pub fn conversation(&self) -> String {
        self.conversation_id.as_ref().map_or_else(|| uuid_from_seed(self.seed), |it| it.to_lowercase())
    }

    /// Returns the turn input with the stored session; `program` is that of the configuration. The turn's id follows from the seed, so two
    /// turns of one conversation need two seeds.
    pub fn into_input(self, conversations: &Conversations, program: ProgramRef) -> TurnInput {
        let conversation = self.conversation();
        TurnInput {
            turn: uuid_from_seed(self.seed ^ 0x7475_726e),
            session: conversations.load(&conversation),
            conversation,
            at: self.at,
            seed: self.seed,
            program,
            event: match self.flow {
                Some(event) => UserEvent::from_flow_event(event),
                None => UserEvent { text: self.message, reset: self.reset, params: self.input_params, flow: None },
            },
        }
    }
}
