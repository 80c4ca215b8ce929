//! A turn of a session: what its nodes read and write.
//!
//! What they can do with it is in modules of their own, in layers (core/README.md). What happens next is decided in `walk`.

use convengine_config::flow::document::{FlowSettings, Node};
use convengine_config::flow::{Flow, GraphRef};
use convengine_turn::{EffectContext, Explanation};
use convengine_understanding::entity::{ExtractionContext, ParseCache};

use super::slot_values::IntentTrigger;
use super::state::{FlowEvent, SessionState};
use super::turn_record::TurnRecord;
use super::view::SessionView;

/// A turn of a session.
pub(super) struct Turn<'c> {
    /// The compiled document.
    pub flow: &'c Flow,
    /// The session state.
    pub state: SessionState,
    /// Requests effects and publishes notices.
    pub effects: EffectContext,
    /// The event of the turn.
    pub event: FlowEvent,
    /// The published version; `None` for the draft.
    pub version: Option<u64>,
    /// The model that has embedded the phrases of the intents, if the host compares messages with them.
    pub phrase_vectors: Option<String>,
    /// The number of this event in the session, from 1.
    pub event_number: u64,
    /// What the turn has produced so far. A nested program continues the record of the program that runs it.
    pub record: TurnRecord<'c>,
    /// The message that triggered the intent, while it is the event of this turn.
    pub trigger: Option<IntentTrigger>,
    /// Whether the graph is walked again after a correction, so that answered questions are not asked.
    pub is_rewalking: bool,
    /// Whether a waiting node has consumed the event, so that no other node uses it (docs/spec/flows.md#6).
    pub is_event_consumed: bool,
    /// Whether a node of another program runs this one.
    pub is_nested: bool,
    /// The summary of the conversation, once a model has written it in this turn.
    pub summary: Option<String>,
    /// The explanation of the slot or agent step that runs, if the turn is observed.
    pub open_explanation: Option<Box<Explanation>>,
    /// What the grammar of values has read in this turn.
    parses: ParseCache,
}

impl<'c> Turn<'c> {
    /// Begins the turn of an event.
    pub fn new(flow: &'c Flow, state: SessionState, event: FlowEvent, effects: EffectContext) -> Turn<'c> {
        Turn {
            flow,
            event_number: state.seq,
            state,
            effects,
            event,
            version: None,
            phrase_vectors: None,
            record: TurnRecord::default(),
            trigger: None,
            is_rewalking: false,
            is_event_consumed: false,
            is_nested: false,
            summary: None,
            open_explanation: None,
            parses: ParseCache::default(),
        }
    }

    /// What can be read of the session.
    pub fn view(&self) -> SessionView<'_, 'c> {
        SessionView::new(self.flow, &self.state, &self.event, &self.parses, &self.effects)
    }

    /// The graph of the current frame.
    pub fn graph(&self) -> Option<GraphRef<'c>> {
        self.view().graph()
    }

    /// The current node.
    pub fn current_node(&self) -> Option<&'c Node> {
        self.view().current_node()
    }

    /// The settings of the document.
    pub fn settings(&self) -> &'c FlowSettings {
        &self.flow.document.settings
    }

    /// How values are read from texts of this session.
    pub fn extraction_context(&self) -> ExtractionContext<'_> {
        self.view().extraction_context()
    }
}
