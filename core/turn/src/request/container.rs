//! The effect that fetches container data before values are extracted.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EffectClass;
use crate::Map;

/// Deadline in milliseconds.
const DEADLINE_MS: u32 = 10_000;

/// A container query; the request body of its service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRequest {
    /// The page.
    pub page_id: i64,
    /// The section of the page.
    pub section_id: i64,
    /// The container of the section.
    pub container_id: i64,
    /// The user on whose behalf it runs; the engine's name.
    pub user_id: String,
    /// The user who is logged in; the engine's name.
    pub logged_in_user_id: String,
    /// The parameters.
    pub input_params: Map,
}

/// A container's answer. An error leaves the turn without this data; it does not fail it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContainerReply {
    /// The data.
    pub data: Value,
}

operation!(Container: ContainerRequest => ContainerReply, class: EffectClass::Read, deadline_ms: |_| DEADLINE_MS);
