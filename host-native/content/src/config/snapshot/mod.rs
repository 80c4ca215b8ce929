//! Earlier configurations: what they contain, how two differ, and how one is restored.
//!
//! A snapshot contains the rows of the tables that turns depend on, including disabled ones, without their creation times, and the settings
//! that affect turns. It does not contain documents, fakes or modules; activating a snapshot leaves those unchanged.

mod difference;
mod part_changes;
mod restore;
mod state;

pub use difference::{Change, Difference, DraftChange, SettingChange};
pub use part_changes::PartChanges;
pub use restore::{RestoreError, RestoreTarget, RestoredRows, find_snapshot, record_activation, record_config, restore_rows};
pub use state::{ConfigState, hash_rows};
