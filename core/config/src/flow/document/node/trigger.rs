//! `trigger`: where a workflow graph begins. (docs/spec/flows.md#9)

use convengine_derive::Described;

use super::super::super::shape::Unread;
use super::{NodeKind, StartData};

/// Data of `trigger`.
#[derive(Debug, Clone, Described)]
pub struct TriggerData {
    /// What starts it.
    #[member(shape = Enum(&["manual", "channel", "api"]))]
    pub kind: Option<Unread<String>>,
}

impl From<TriggerData> for NodeKind {
    fn from(_: TriggerData) -> NodeKind {
        NodeKind::Start(StartData::default())
    }
}
