//! Types of nodes that only drafts of workflow graphs may hold. (docs/spec/flows.md#9)

use serde_json::Value;

use super::super::super::shape::{Absent, Described, Fields, MemberShape, Members, Shape};
use super::traits::{NodeData, NodeGroup, NodeTraits};

/// Data of a type that only drafts may hold: any object.
#[derive(Debug, Clone, Copy)]
pub struct DraftData;

impl Described for DraftData {
    const SHAPE: Shape = Shape::AnyObject;

    fn read(_: &Value) -> Option<DraftData> {
        Some(DraftData)
    }
}

impl Members for DraftData {
    const LISTS: &'static [&'static [MemberShape]] = &[];

    fn read_members(_: Fields<'_>) -> Option<DraftData> {
        Some(DraftData)
    }
}

impl Absent for DraftData {
    fn absent() -> DraftData {
        DraftData
    }
}

impl NodeData for DraftData {
    fn traits(&self) -> NodeTraits<'_> {
        NodeTraits { group: NodeGroup::None, ..NodeTraits::CALLING }
    }
}
