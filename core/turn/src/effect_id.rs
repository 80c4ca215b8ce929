//! Numbers of effects.

use serde::{Deserialize, Serialize};

/// The number of an effect within its turn, counted from 0 in program order. A replay requests the same effects under the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u32);
